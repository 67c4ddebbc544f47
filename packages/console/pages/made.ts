// The small pages made by hand: one script, because they have much in common.
export { DocumentsPage } from './documents.tsx'
export { EventPage, EventsPage } from './events.tsx'
export { AuditPage, RequestsPage } from './logs.tsx'
export { BudgetPage, MeterPage } from './metering.tsx'
export { ClockBar, OrderPage, OrdersPage, SubscriptionPage } from './payments.tsx'
export { DeliveriesPage, DeliveryPage } from './webhooks.tsx'
