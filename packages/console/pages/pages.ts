// The pages made by hand. Each takes the place of the page that the engine would make for its path.
import type { ComponentType } from 'preact'
import { lazy } from '../lazy.tsx'
import { match, type PageProps } from '../router.ts'
import { Overview } from './overview.tsx'

const pages: Record<string, ComponentType<PageProps>> = {
  '/': Overview,
  '/ai/knowledge/{id}/documents': lazy(async () => (await import('./documents.tsx')).DocumentsPage),
  '/ai/sessions/{id}': lazy(async () => (await import('./chat.tsx')).ChatPage),
  '/audit-log': lazy(async () => (await import('./logs.tsx')).AuditPage),
  '/events': lazy(async () => (await import('./events.tsx')).EventsPage),
  '/events/{id}': lazy(async () => (await import('./events.tsx')).EventPage),
  '/payments/budgets/{id}': lazy(async () => (await import('./metering.tsx')).BudgetPage),
  '/payments/meters/{id}': lazy(async () => (await import('./metering.tsx')).MeterPage),
  '/payments/subscriptions/{id}': lazy(async () => (await import('./payments.tsx')).SubscriptionPage),
  '/requests': lazy(async () => (await import('./logs.tsx')).RequestsPage),
  '/storage/files': lazy(async () => (await import('./files/files.tsx')).FilesPage),
  '/storage/files/{id}': lazy(async () => (await import('./files/files.tsx')).FilePage),
  '/webhooks/deliveries': lazy(async () => (await import('./webhooks.tsx')).DeliveriesPage),
  '/webhooks/deliveries/{id}': lazy(async () => (await import('./webhooks.tsx')).DeliveryPage),
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
