// The composition root: creates each service once, and closes the services in order.
import { createOutwardCheck } from './backup/restored-copy.ts'
import { createProviders, type Providers } from './ai/providers/providers.ts'
import { Searches } from './ai/search/searches.ts'
import { Generations } from './ai/chat/generation.ts'
import type { ParsingJob } from './ai/knowledge/documents.ts'
import type { Config } from '../infra/config/config.ts'
import { setBrand } from '../infra/html/brand.ts'
import type { Cipher } from '../infra/encryption/cipher.ts'
import { openCipher } from '../infra/encryption/secret-key.ts'
import { openDatabase, reservedConnections, type Database } from '../infra/database/database.ts'
import { createEmitter, type DeliveryJob, type Emitter } from './events/emit.ts'
import { createEventCursors, type EventCursors } from './events/cursors.ts'
import { EventStreams } from './events/live-stream.ts'
import { requireMonths } from './events/retention.ts'
import { deliveryQueue } from './webhooks/worker.ts'
import { documentQueue } from './ai/knowledge/worker.ts'
import { gatewayQueue } from './payments/gateway-worker.ts'
import { exportQueue, type ExportJob } from './exports/exports.ts'
import { trackedJobQueue, type TrackedJobData } from './jobs/jobs.ts'
import { mailQueue, type MailJob, type Mails } from './mail/mails.ts'
import { createTransport, type MailTransport } from './mail/transport.ts'
import { type Queue, createJobQueues, type JobQueues } from '../infra/jobs/queue.ts'
import { createLastUsed, type LastUsed } from './users/key-last-used.ts'
import { RequestRecorder } from './usage/recorder.ts'
import { OpenCounts } from '../infra/concurrency/open-counts.ts'
import { requireClock } from '../infra/database/clock.ts'
import { Leadership } from '../infra/database/leadership.ts'
import type { Bus } from '../infra/bus/bus.ts'
import { NatsBus } from '../infra/bus/nats-bus.ts'
import { Listener } from '../infra/database/notifications.ts'
import { ReadReplica, writesChannel, type ReadReplicaOptions } from '../infra/database/read-replica.ts'
import { AuditRecorder } from './audit/recorder.ts'
import { createOidcProviders, type Providers as OidcProviders } from './auth/oidc/oidc.ts'
import {
  createGateways,
  type Dunning,
  type GatewayJob,
  type Gateways,
  type UsageDays,
} from './payments/gateway.ts'
import { ReceiptMails } from './payments/receipts/mail.ts'
import { sandbox } from './payments/sandbox/gateway.ts'
import { createStripeGateway } from './payments/stripe/gateway.ts'
import { projectConstraintErrors } from './projects/constraint-errors.ts'
import { budgetErrors } from './budgets/reached-budget.ts'
import { quotaErrors } from './users/quotas.ts'
import { createPrincipals, type Principals } from './users/authentication.ts'
import { Readiness } from '../infra/readiness.ts'
import { deleteDocumentsOfFiles } from './ai/knowledge/documents.ts'
import { createStorage, type Storage } from './storage/storage.ts'
import { createWebhookClient, type WebhookClient } from './webhooks/http-client.ts'

/**
 * The connections to PostgreSQL that a process opens at most: requests, searches, health checks and jobs,
 * notifications, leadership, locks.
 */
export function connectionsOf({ databasePoolSize }: Readonly<Config>): number {
  return databasePoolSize + searchConnections(databasePoolSize) + reservedConnections + 4
}

function searchConnections(poolSize: number): number {
  return Math.ceil(poolSize / 3)
}

/** The services that handlers and background workers use. */
export interface Services {
  config: Readonly<Config>
  database: Database
  /** The notifications of other processes. */
  listener: Bus
  /** Determines the process that numbers the events. */
  leadership: Leadership
  /** Null without DATABASE_READ_URL. The process that serves requests starts it. */
  readReplica: ReadReplica | null
  principals: Principals
  lastUsed: LastUsed
  requestRecorder: RequestRecorder
  auditRecorder: AuditRecorder
  jobs: JobQueues
  /** The queue of webhook deliveries. */
  deliveries: Queue<DeliveryJob>
  /** The queue of documents to parse and index. */
  documents: Queue<ParsingJob>
  events: Emitter
  eventCursors: () => Promise<EventCursors>
  eventStreams: EventStreams
  webhookClient: WebhookClient
  /** The queue of exports of accounts. */
  exports: Queue<ExportJob>
  /** The queue of jobs that users follow. */
  trackedJobs: Queue<TrackedJobData>
  /** The queue of e-mails. */
  mails: Mails
  /** Null without SMTP_URL: e-mails stay in the outbox. */
  mailTransport: MailTransport | null
  /** The identity providers with which people sign in. */
  oidcProviders: OidcProviders
  /** Encrypts the secrets that the database must give back. */
  cipher: Cipher
  storage: Storage
  /** The requests of accounts that this process answers, and those that wait. */
  openRequests: OpenCounts
  /** The uploads that users send to this process. */
  openUploads: OpenCounts
  /** The providers of language models. */
  providers: Providers
  gateways: Gateways
  receiptMails: ReceiptMails
  dunning: Dunning
  usageDays: UsageDays
  /** The queue of calls to the payment gateway. */
  gatewayJobs: Queue<GatewayJob>
  /** Searches in knowledge bases. */
  searches: Searches
  /** The AI answers that this process generates. */
  generations: Generations
  readiness: Readiness
  close(): Promise<void>
}

export interface ServicesOptions {
  config: Readonly<Config>
  /** `config.databaseUrl`, or the URL of the embedded PostgreSQL. */
  databaseUrl: string
  onError?: (error: Error) => void
  /** Milliseconds between two writes of the recorded requests. */
  recordInterval?: number
  /** Called with every SQL statement, for tests. */
  onStatement?: (text: string) => void
  /** Called with the rows of each statement of prisma/sql, for tests that check them. */
  onRows?: (label: string, rows: unknown[]) => void
}

export function createServices({
  config,
  databaseUrl,
  onError = () => {},
  recordInterval,
  onStatement,
  onRows,
}: ServicesOptions): Services {
  setBrand(config)
  const cipher = openCipher(config)
  const directUrl = config.databaseDirectUrl ?? databaseUrl
  const database = openDatabase({
    url: databaseUrl,
    directUrl,
    preparedStatements: config.databasePreparedStatements,
    poolSize: config.databasePoolSize,
    constraintErrors: [...projectConstraintErrors, ...quotaErrors(config), ...budgetErrors],
    onError,
    onStatement,
    onRows,
  })
  const leadership = new Leadership({ database, name: 'leader', onError })
  const openListener = (beforeAnswer?: (token: string) => Promise<void>): Listener =>
    new Listener({ db: database, url: directUrl, onError, beforeAnswer })
  const channels = [writesChannel]
  const natsBus =
    config.busUrl === null
      ? null
      : new NatsBus({ database, url: config.busUrl, leadership, openListener, channels, onError })
  const listener: Bus = natsBus ?? openListener()
  const readReplica = openReadReplica(config, { database, listener, onError })
  const principals = createPrincipals(database, listener, cipher)
  const lastUsed = createLastUsed(database, config, { onError })
  const requestRecorder = new RequestRecorder(database, { interval: recordInterval, onError })
  const jobs = createJobQueues({ database, listener, onError })
  const deliveries = jobs.queue<DeliveryJob>(deliveryQueue)
  const documents = jobs.queue<ParsingJob>(documentQueue)
  const exports = jobs.queue<ExportJob>(exportQueue)
  const trackedJobs = jobs.queue<TrackedJobData>(trackedJobQueue)
  const mails = jobs.queue<MailJob>(mailQueue)
  const mailTransport = createTransport(config.smtpUrl, config.mailFrom)
  const eventCursors = createEventCursors(database)
  const eventStreams = new EventStreams({
    db: database,
    principals,
    cursors: eventCursors,
    listener,
    leadership,
    streamsPerUser: config.streamsPerUser,
    positionInterval: config.streamPing * 1000,
    onDeliveries: deliveries.announce,
    onError,
  })
  const events = createEmitter({
    deliveries,
    onEmitted: () => eventStreams.notifyNewEvents(),
    strict: config.validateResponses,
  })
  const auditRecorder = new AuditRecorder(database, cipher, {
    interval: recordInterval,
    emit: (tx, entry) => events.emit(tx, 'audit.recorded', entry),
    onError,
  })
  const oidcProviders = createOidcProviders(config.oidcProviders, onError)
  const storage = createStorage(database, config, {
    onError,
    deleteDocuments: (tx, fileIds) => deleteDocumentsOfFiles(tx, events, fileIds),
  })
  const beforeCall = createOutwardCheck(database)
  const providers = createProviders(config, { onError, beforeCall })
  const searches = new Searches(database, searchConnections(config.databasePoolSize))
  const generations = new Generations({
    database,
    listener,
    principals,
    events,
    providers,
    searches,
    storage,
    onError,
  })
  const gatewayJobs = jobs.queue<GatewayJob>(gatewayQueue)
  const gateways = createGateways(
    sandbox,
    config.stripe === null
      ? []
      : [createStripeGateway({ ...config.stripe, jobs: gatewayJobs, beforeCall, onError })],
    config,
  )
  const { sellerName: seller, publicUrl, organizationSales } = config
  const receiptMails = new ReceiptMails({ cipher, mails, seller, publicUrl, organizationSales })
  const webhookClient = createWebhookClient({
    allowed: config.webhookAllowedNetworks,
    ports: config.webhookAllowedPorts,
  })
  const readiness = new Readiness(
    {
      database: { run: () => database.ping(), required: true },
      notifications: { run: () => listener.requireListening(), required: false },
      ...(natsBus !== null && { bus: { run: () => natsBus.requireRelay(), required: false } }),
      writes: { run: () => database.requireWrites(), required: false },
      clock: { run: () => requireClock(database.reserve), required: false },
      queue: { run: () => jobs.ping(), required: true },
      storage: { run: () => storage.ping(), required: false },
      partitions: { run: () => requireMonths(database.reserve), required: false },
    },
    onError,
  )
  // After every service above has subscribed to its channels.
  listener.start()
  leadership.start()
  eventStreams.start()
  return {
    config,
    database,
    listener,
    leadership,
    readReplica,
    principals,
    lastUsed,
    requestRecorder,
    auditRecorder,
    jobs,
    deliveries,
    documents,
    exports,
    trackedJobs,
    events,
    eventCursors,
    eventStreams,
    webhookClient,
    mails,
    mailTransport,
    oidcProviders,
    cipher,
    storage,
    openRequests: new OpenCounts('requests', config.requestsPerUser),
    openUploads: new OpenCounts('uploads', config.uploadsPerUser),
    providers,
    gateways,
    receiptMails,
    dunning: { days: config.paymentRetryDays, end: config.paymentRetryEnd },
    usageDays: { accepted: config.usageWindowDays, kept: config.usageEventDays },
    gatewayJobs,
    searches,
    generations,
    readiness,
    async close() {
      // A service closes before the services that it uses; the database closes last.
      readiness.close()
      await auditRecorder.flush()
      await eventStreams.close()
      await leadership.close()
      await generations.close()
      await searches.close()
      await providers.close()
      await listener.close()
      await webhookClient.close()
      await mailTransport?.close()
      for (const gateway of gateways.remotes) gateway.disconnect()
      await storage.close()
      await lastUsed.close()
      await requestRecorder.close()
      await auditRecorder.close()
      await readReplica?.close()
      await database.close()
    },
  }
}

function openReadReplica(
  { databaseReadUrl: url, databaseReadMaxLag, databasePoolSize: poolSize }: Readonly<Config>,
  services: Pick<ReadReplicaOptions, 'database' | 'listener' | 'onError'>,
): ReadReplica | null {
  if (url === null) return null
  return new ReadReplica({ ...services, url, poolSize, maxLag: databaseReadMaxLag * 1000 })
}
