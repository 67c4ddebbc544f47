// Everything a handler may use beside its request, made once and closed once.
import { createProviders, type Providers } from './ai/providers/providers.ts'
import { Generations } from './ai/chat/generation.ts'
import type { ParsingJob } from './ai/knowledge/documents.ts'
import type { Config } from '../infra/config/config.ts'
import { openDatabase, type Database } from '../infra/database/database.ts'
import { createEmitter, type DeliveryJob, type Emitter } from './events/emit.ts'
import { EventStreams } from './events/live-stream.ts'
import {
  createJobs,
  deliveryQueue,
  documentQueue,
  gatewayQueue,
  type Jobs,
  type Queue,
} from '../infra/jobs/queue.ts'
import { createLastUsed, type LastUsed } from './users/key-last-used.ts'
import { createListener, type Listener } from '../infra/database/notifications.ts'
import { createGateways, type GatewayJob, type Gateways } from './payments/gateway.ts'
import { sandbox } from './payments/sandbox/gateway.ts'
import { createStripeGateway } from './payments/stripe/gateway.ts'
import { projectConstraintErrors } from './projects/constraint-errors.ts'
import { createPrincipals, type Principals } from './users/authentication.ts'
import { createStorage, type Storage } from './storage/storage.ts'
import { createWebhookClient, type WebhookClient } from './webhooks/http-client.ts'

export interface Services {
  config: Readonly<Config>
  database: Database
  listener: Listener
  principals: Principals
  lastUsed: LastUsed
  jobs: Jobs
  /** The deliveries of webhooks that are due. */
  deliveries: Queue<DeliveryJob>
  /** The documents that are to be read. */
  documents: Queue<ParsingJob>
  events: Emitter
  eventStreams: EventStreams
  webhookClient: WebhookClient
  storage: Storage
  /** The providers of language models. */
  providers: Providers
  gateways: Gateways
  /** What the gateway of payments is to do. */
  gatewayJobs: Queue<GatewayJob>
  /** The chat answers that this process generates. */
  generations: Generations
  /** What a request may need, each with a check that throws when it is out of reach. */
  checks: Record<string, () => Promise<void>>
  close(): Promise<void>
}

export interface ServicesOptions {
  config: Readonly<Config>
  /** Where the database is; the embedded one's address where config has none. */
  databaseUrl: string
  onError?: (error: Error) => void
  onStatement?: (text: string) => void
}

export function createServices({
  config,
  databaseUrl,
  onError = () => {},
  onStatement,
}: ServicesOptions): Services {
  const database = openDatabase({
    url: databaseUrl,
    poolSize: config.databasePoolSize,
    constraintErrors: projectConstraintErrors,
    onError,
    onStatement,
  })
  const listener = createListener({ db: database, url: databaseUrl, onError })
  const principals = createPrincipals(database, listener)
  const lastUsed = createLastUsed(database, { onError })
  const jobs = createJobs({ database, onError })
  const deliveries = jobs.queue<DeliveryJob>(deliveryQueue)
  const documents = jobs.queue<ParsingJob>(documentQueue)
  const eventStreams = new EventStreams({
    db: database,
    principals,
    listener,
    streamsPerUser: config.streamsPerUser,
    positionInterval: config.streamPing * 1000,
    onError,
  })
  const events = createEmitter({
    deliveries,
    onEmitted: () => eventStreams.notifyNewEvents(),
    strict: config.validateResponses,
  })
  const storage = createStorage(database, config, { onError })
  const providers = createProviders(config, { onError })
  const generations = new Generations({ database, listener, principals, events, providers, onError })
  const gatewayJobs = jobs.queue<GatewayJob>(gatewayQueue)
  const gateways = createGateways(
    sandbox,
    config.stripe === null ? null : createStripeGateway({ ...config.stripe, jobs: gatewayJobs, onError }),
  )
  const webhookClient = createWebhookClient({ allowed: config.webhookAllowedNetworks })
  // When everybody above has said what to hear.
  listener.start()
  eventStreams.start()
  return {
    config,
    database,
    listener,
    principals,
    lastUsed,
    jobs,
    deliveries,
    documents,
    events,
    eventStreams,
    webhookClient,
    storage,
    providers,
    gateways,
    gatewayJobs,
    generations,
    checks: { database: () => database.ping(), queue: () => jobs.ping(), storage: () => storage.ping() },
    async close() {
      // First what calls into the others, last what they all need.
      await eventStreams.close()
      await generations.close()
      await providers.close()
      await listener.close()
      await webhookClient.close()
      gateways.stripe?.disconnect()
      await storage.close()
      await jobs.close()
      await lastUsed.close()
      await database.close()
    },
  }
}
