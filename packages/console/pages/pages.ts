// The pages made by hand. Each takes the place of the page that the engine would make for its path.
import type { ComponentType } from 'preact'
import { match } from '../router.ts'
import { EventPage, EventsPage } from './events.tsx'
import { Overview } from './overview.tsx'
import { SubscriptionPage } from './payments.tsx'
import { DeliveryPage } from './webhooks.tsx'

export interface PageProps {
  /** The values of the path's parameters. */
  values: Record<string, string>
  path: string
  query: URLSearchParams
}

const pages: Record<string, ComponentType<PageProps>> = {
  '/': Overview,
  '/events': EventsPage,
  '/events/{id}': EventPage,
  '/payments/subscriptions/{id}': SubscriptionPage,
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
