// The pages made by hand. Each takes the place of the page that the engine would make for its path.
import type { ComponentType } from 'preact'
import { lazy } from '../lazy.tsx'
import { peoplePath } from '../model.ts'
import { match, type PageProps } from '../router.ts'
import { Overview } from './overview.tsx'

type Engine = typeof import('../engine.ts')

const made = (name: keyof Engine): ComponentType<PageProps> =>
  lazy(async () => (await import('../engine.ts'))[name] as ComponentType<PageProps>)

const pages: Record<string, ComponentType<PageProps>> = {
  '/': Overview,
  '/ai/knowledge/{id}/documents': made('DocumentsPage'),
  '/ai/sessions/{id}': made('ChatPage'),
  '/audit-log': made('AuditPage'),
  '/events': made('EventsPage'),
  '/events/{id}': made('EventPage'),
  '/payments/budgets/{id}': made('BudgetPage'),
  '/payments/meters/{id}': made('MeterPage'),
  '/payments/orders': made('OrdersPage'),
  '/payments/orders/{id}': made('OrderPage'),
  '/payments/subscriptions/{id}': made('SubscriptionPage'),
  [peoplePath]: made('PeoplePage'),
  '/requests': made('RequestsPage'),
  '/storage/files': lazy(async () => (await import('./files/files.tsx')).FilesPage),
  '/storage/files/{id}': lazy(async () => (await import('./files/files.tsx')).FilePage),
  '/webhooks/deliveries': made('DeliveriesPage'),
  '/webhooks/deliveries/{id}': made('DeliveryPage'),
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
