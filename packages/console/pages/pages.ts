// The pages made by hand. Each takes the place of the page that the engine would make for its path.
import type { ComponentType } from 'preact'
import { match, type PageProps } from '../router.ts'
import { ChatPage } from './chat.tsx'
import { DocumentsPage } from './documents.tsx'
import { EventPage, EventsPage } from './events.tsx'
import { FilePage, FilesPage } from './files.tsx'
import { BudgetPage, MeterPage } from './metering.tsx'
import { Overview } from './overview.tsx'
import { SubscriptionPage } from './payments.tsx'
import { DeliveryPage } from './webhooks.tsx'

const pages: Record<string, ComponentType<PageProps>> = {
  '/': Overview,
  '/ai/knowledge/{id}/documents': DocumentsPage,
  '/ai/sessions/{id}': ChatPage,
  '/events': EventsPage,
  '/events/{id}': EventPage,
  '/payments/budgets/{id}': BudgetPage,
  '/payments/meters/{id}': MeterPage,
  '/payments/subscriptions/{id}': SubscriptionPage,
  '/storage/files': FilesPage,
  '/storage/files/{id}': FilePage,
  '/webhooks/deliveries/{id}': DeliveryPage,
}

export function pageAt(
  path: string,
): { Made: ComponentType<PageProps>; values: Record<string, string> } | null {
  for (const [template, Made] of Object.entries(pages)) {
    const values = match(template, path)
    if (values !== null) return { Made, values }
  }
  return null
}
