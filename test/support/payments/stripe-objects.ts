// Objects of Stripe's API for tests. Their types are those of Stripe's package, so that they match the pinned
// API version.
import type { Stripe } from 'stripe'

export type Session = Stripe.Checkout.Session
export type Subscription = Stripe.Subscription
export type Invoice = Stripe.Invoice
export type Intent = Stripe.PaymentIntent
export type Refund = Stripe.Refund
export type Dispute = Stripe.Dispute
export type PaymentMethod = Stripe.PaymentMethod
export type Charge = Stripe.Charge
type Metadata = Record<string, string>

const nulls = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, null])) as Record<Name, null>
const list = <T>(url: string, data: T[]): Stripe.ApiList<T> => ({
  object: 'list',
  url,
  has_more: false,
  data,
})
const noTax = { enabled: false, disabled_reason: null, liability: null, provider: null, status: null }

export interface NewSession {
  id: string
  mode: 'payment' | 'subscription'
  amount: number
  currency: string
  metadata: Metadata
  clientReferenceId: string | null
  successUrl: string
  cancelUrl: string | null
  created: number
  expiresAt: number
}

export function sessionOf({
  id,
  mode,
  amount,
  currency,
  metadata,
  clientReferenceId,
  successUrl,
  cancelUrl,
  created,
  expiresAt,
}: NewSession): Session {
  return {
    ...nulls(
      'adaptive_pricing',
      'after_expiration',
      'allow_promotion_codes',
      'allowed_payment_method_types',
      'billing_address_collection',
      'client_secret',
      'collected_information',
      'consent',
      'consent_collection',
      'currency_conversion',
      'customer',
      'customer_account',
      'customer_creation',
      'customer_details',
      'customer_email',
      'discounts',
      'integration_identifier',
      'invoice',
      'invoice_creation',
      'locale',
      'managed_payments',
      'origin_context',
      'payment_intent',
      'payment_link',
      'payment_method_collection',
      'payment_method_configuration_details',
      'payment_method_options',
      'permissions',
      'recovered_from',
      'saved_payment_method_options',
      'setup_intent',
      'shipping_address_collection',
      'shipping_cost',
      'submit_type',
      'subscription',
      'wallet_options',
    ),
    id,
    object: 'checkout.session',
    amount_subtotal: amount,
    amount_total: amount,
    automatic_tax: noTax,
    cancel_url: cancelUrl,
    client_reference_id: clientReferenceId,
    created,
    currency,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    expires_at: expiresAt,
    livemode: false,
    metadata,
    mode,
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    shipping_options: [],
    status: 'open',
    success_url: successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: `https://checkout.stripe.example/c/pay/${id}`,
  }
}

export function intentOf({
  id,
  amount,
  currency,
  created,
  metadata,
  status,
}: {
  id: string
  amount: number
  currency: string
  created: number
  metadata: Metadata
  status: 'succeeded' | 'processing' | 'requires_payment_method'
}): Intent {
  return {
    ...nulls(
      'allowed_payment_method_types',
      'application',
      'application_fee_amount',
      'automatic_payment_methods',
      'canceled_at',
      'cancellation_reason',
      'client_secret',
      'customer',
      'customer_account',
      'description',
      'excluded_payment_method_types',
      'last_payment_error',
      'latest_charge',
      'managed_payments',
      'next_action',
      'on_behalf_of',
      'payment_method',
      'payment_method_configuration_details',
      'payment_method_options',
      'payment_record',
      'processing',
      'receipt_email',
      'review',
      'setup_future_usage',
      'shipping',
      'source',
      'statement_descriptor',
      'statement_descriptor_suffix',
      'transfer_data',
      'transfer_group',
    ),
    id,
    object: 'payment_intent',
    amount,
    amount_capturable: 0,
    amount_received: status === 'succeeded' ? amount : 0,
    capture_method: 'automatic_async',
    confirmation_method: 'automatic',
    created,
    currency,
    livemode: false,
    metadata,
    payment_method_types: ['card'],
    status,
  }
}

export interface Interval {
  interval: 'day' | 'week' | 'month' | 'year'
  interval_count: number
}

export interface NewSubscription {
  id: string
  customer: string
  currency: string
  unitAmount: number
  quantity: number
  recurring: Interval
  metadata: Metadata
  start: number
  end: number
}

export function subscriptionOf({
  id,
  customer,
  currency,
  unitAmount,
  quantity,
  recurring,
  metadata,
  start,
  end,
}: NewSubscription): Subscription {
  const price: Stripe.Price = {
    ...nulls(
      'custom_unit_amount',
      'lookup_key',
      'nickname',
      'tiers_mode',
      'transform_quantity',
      'unit_amount_decimal',
    ),
    id: `price_${id}`,
    object: 'price',
    active: true,
    billing_scheme: 'per_unit',
    created: start,
    currency,
    livemode: false,
    metadata: {},
    product: `prod_${id}`,
    recurring: { ...recurring, meter: null, trial_period_days: null, usage_type: 'licensed' },
    tax_behavior: 'unspecified',
    type: 'recurring',
    unit_amount: unitAmount,
  }
  const plan: Stripe.Plan = {
    ...nulls('amount_decimal', 'meter', 'nickname', 'tiers_mode', 'transform_usage', 'trial_period_days'),
    id: price.id,
    object: 'plan',
    active: true,
    amount: unitAmount,
    billing_scheme: 'per_unit',
    created: start,
    currency,
    ...recurring,
    livemode: false,
    metadata: {},
    product: `prod_${id}`,
    usage_type: 'licensed',
  }
  const item: Stripe.SubscriptionItem = {
    ...nulls('billing_thresholds', 'current_trial', 'tax_rates'),
    id: `si_${id}`,
    object: 'subscription_item',
    created: start,
    current_period_start: start,
    current_period_end: end,
    discounts: [],
    metadata: {},
    plan,
    price,
    quantity,
    subscription: id,
  }
  return {
    ...nulls(
      'application',
      'application_fee_percent',
      'billing_cycle_anchor_config',
      'billing_thresholds',
      'cancel_at',
      'canceled_at',
      'cancellation_details',
      'customer_account',
      'days_until_due',
      'default_payment_method',
      'default_source',
      'description',
      'ended_at',
      'latest_invoice',
      'managed_payments',
      'next_pending_invoice_item_invoice',
      'on_behalf_of',
      'pause_collection',
      'payment_settings',
      'pending_invoice_item_interval',
      'pending_setup_intent',
      'pending_update',
      'schedule',
      'test_clock',
      'transfer_data',
      'trial_end',
      'trial_settings',
      'trial_start',
    ),
    id,
    object: 'subscription',
    automatic_tax: { enabled: false, disabled_reason: null, liability: null },
    billing_cycle_anchor: start,
    billing_mode: { type: 'flexible', flexible: { proration_discounts: 'included' } },
    billing_schedules: [],
    cancel_at_period_end: false,
    collection_method: 'charge_automatically',
    created: start,
    currency,
    customer,
    discounts: [],
    invoice_settings: {
      account_tax_ids: null,
      custom_fields: null,
      description: null,
      footer: null,
      issuer: { type: 'self' },
    },
    items: list('/v1/subscription_items', [item]),
    livemode: false,
    metadata,
    start_date: start,
    status: 'active',
  }
}

export interface NewInvoice {
  id: string
  subscription: Subscription
  reason: 'subscription_create' | 'subscription_cycle'
  amount: number
  created: number
  /** The id of its payment intent. */
  intent: string
}

export function invoiceOf({ id, subscription, reason, amount, created, intent }: NewInvoice): Invoice {
  const { currency, metadata } = subscription
  const [{ current_period_start: start, current_period_end: end }] = subscription.items.data
  const payment: Stripe.InvoicePayment = {
    id: `inpay_${id}`,
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: amount,
    created,
    currency,
    invoice: id,
    is_default: true,
    livemode: false,
    payment: { type: 'payment_intent', payment_intent: intent },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  }
  const line: Stripe.InvoiceLineItem = {
    ...nulls(
      'description',
      'discount_amounts',
      'parent',
      'pretax_credit_amounts',
      'pricing',
      'quantity_decimal',
      'taxes',
    ),
    id: `il_${id}`,
    object: 'line_item',
    amount,
    currency,
    discountable: true,
    discounts: [],
    invoice: id,
    livemode: false,
    metadata,
    period: { start, end },
    quantity: 1,
    subscription: subscription.id,
    subtotal: amount,
  }
  return {
    ...nulls(
      'account_country',
      'account_name',
      'account_tax_ids',
      'application',
      'automatically_finalizes_at',
      'custom_fields',
      'customer_account',
      'customer_address',
      'customer_email',
      'customer_name',
      'customer_phone',
      'customer_shipping',
      'customer_tax_exempt',
      'default_payment_method',
      'default_source',
      'description',
      'due_date',
      'ending_balance',
      'footer',
      'from_invoice',
      'last_finalization_error',
      'latest_revision',
      'next_payment_attempt',
      'number',
      'on_behalf_of',
      'receipt_number',
      'rendering',
      'shipping_cost',
      'shipping_details',
      'statement_descriptor',
      'subtotal_excluding_tax',
      'test_clock',
      'total_discount_amounts',
      'total_excluding_tax',
      'total_pretax_credit_amounts',
      'total_taxes',
      'webhooks_delivered_at',
    ),
    id,
    object: 'invoice',
    amount_due: amount,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: amount,
    amount_shipping: 0,
    attempt_count: 0,
    attempted: false,
    automatic_tax: noTax,
    billing_reason: reason,
    collection_method: 'charge_automatically',
    created,
    currency,
    customer: subscription.customer,
    default_tax_rates: [],
    discounts: [],
    effective_at: created,
    issuer: { type: 'self' },
    lines: list(`/v1/invoices/${id}/lines`, [line]),
    livemode: false,
    metadata: {},
    parent: {
      type: 'subscription_details',
      quote_details: null,
      subscription_details: { metadata, subscription: subscription.id },
    },
    payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
    payments: list('/v1/invoice_payments', [payment]),
    period_start: start,
    period_end: start,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    starting_balance: 0,
    status: 'open',
    status_transitions: {
      finalized_at: created,
      marked_uncollectible_at: null,
      paid_at: null,
      voided_at: null,
    },
    subtotal: amount,
    total: amount,
  }
}

export function refundOf({
  id,
  amount,
  currency,
  created,
  intent,
  metadata,
  status,
}: {
  id: string
  amount: number
  currency: string
  created: number
  intent: string
  metadata: Metadata
  status: string
}): Refund {
  return {
    ...nulls(
      'balance_transaction',
      'charge',
      'customer',
      'customer_account',
      'payment_method',
      'reason',
      'receipt_number',
      'source_transfer_reversal',
      'transfer_reversal',
    ),
    id,
    object: 'refund',
    amount,
    created,
    currency,
    metadata,
    payment_intent: intent,
    status,
  }
}

export function disputeOf({
  id,
  intent,
  amount,
  currency,
  created,
  status,
}: {
  id: string
  intent: string
  amount: number
  currency: string
  created: number
  status: string
}): Dispute {
  return {
    id,
    object: 'dispute',
    amount,
    balance_transactions: [],
    charge: `ch_${id}`,
    created,
    currency,
    enhanced_eligibility_types: [],
    evidence: {} as Stripe.Dispute.Evidence,
    evidence_details: {
      due_by: created + 7 * 86_400,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: null,
    is_charge_refundable: status.startsWith('warning'),
    livemode: false,
    metadata: {},
    payment_intent: intent,
    reason: 'fraudulent',
    status,
  }
}

/** A card, by its number. It is attached to the customer if there is one. */
export function cardMethodOf({
  id,
  number,
  customer,
  created,
}: {
  id: string
  number: string
  customer: string | null
  created: number
}): PaymentMethod {
  return {
    id,
    object: 'payment_method',
    billing_details: nulls('address', 'email', 'name', 'phone', 'tax_id'),
    card: {
      ...nulls(
        'checks',
        'country',
        'display_brand',
        'generated_from',
        'networks',
        'regulated_status',
        'three_d_secure_usage',
        'wallet',
      ),
      brand: number.startsWith('5') ? 'mastercard' : 'visa',
      exp_month: 12,
      exp_year: 2040,
      fingerprint: `fp${number}`,
      funding: 'credit',
      last4: number.slice(-4),
    },
    created,
    customer,
    customer_account: null,
    livemode: false,
    metadata: {},
    type: 'card',
  }
}

/** A declined attempt to pay a payment intent by card. */
export function failedChargeOf({
  id,
  intent,
  declineCode,
  created,
}: {
  id: string
  intent: Intent
  declineCode: string
  created: number
}): Charge {
  const { amount, currency, metadata } = intent
  return {
    ...nulls(
      'application',
      'application_fee',
      'application_fee_amount',
      'balance_transaction',
      'calculated_statement_descriptor',
      'customer',
      'description',
      'failure_balance_transaction',
      'fraud_details',
      'on_behalf_of',
      'payment_method',
      'receipt_email',
      'receipt_number',
      'receipt_url',
      'review',
      'shipping',
      'source',
      'source_transfer',
      'statement_descriptor',
      'statement_descriptor_suffix',
      'transfer_data',
      'transfer_group',
    ),
    id,
    object: 'charge',
    amount,
    amount_captured: 0,
    amount_refunded: 0,
    billing_details: nulls('address', 'email', 'name', 'phone', 'tax_id'),
    captured: false,
    created,
    currency,
    disputed: false,
    failure_code: 'card_declined',
    failure_message: 'Your card was declined.',
    livemode: false,
    metadata,
    outcome: { type: 'issuer_declined', reason: declineCode } as Stripe.Charge.Outcome,
    paid: false,
    payment_intent: intent.id,
    payment_method_details: {
      type: 'card',
      card: { brand: 'visa', last4: '0002' },
    } as Charge['payment_method_details'],
    refunded: false,
    status: 'failed',
  }
}
