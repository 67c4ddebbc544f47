// Everything a handler may use beside its request, made once and closed once.
import type { ParsingJob } from './ai/knowledge/documents.ts'
import { createUpstreams, type Upstreams } from './ai/providers/providers.ts'
import { createWritings, type Writings } from './ai/chat/generation.ts'
import type { Config } from '../infra/config/config.ts'
import { openDatabase, type Database } from '../infra/database/database.ts'
import { createEmitter, type DeliveryJob, type Emitter } from './events/emit.ts'
import { createTail, type Tail } from './events/live-stream.ts'
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
import { createPrincipals, type Principals } from './users/authentication.ts'
import { createStorage, type Storage } from './storage/storage.ts'
import { createEgress, type Egress } from './webhooks/http-client.ts'

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
  tail: Tail
  egress: Egress
  storage: Storage
  upstreams: Upstreams
  gateways: Gateways
  /** What the gateway of payments is to do. */
  gatewayJobs: Queue<GatewayJob>
  /** The answers that are written here. */
  writings: Writings
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
  const database = openDatabase({ url: databaseUrl, poolSize: config.databasePoolSize, onError, onStatement })
  const listener = createListener({ db: database, url: databaseUrl, onError })
  const principals = createPrincipals(database, listener)
  const lastUsed = createLastUsed(database, { onError })
  const jobs = createJobs({ database, onError })
  const deliveries = jobs.queue<DeliveryJob>(deliveryQueue)
  const documents = jobs.queue<ParsingJob>(documentQueue)
  const tail = createTail({
    db: database,
    principals,
    listener,
    streamsPerUser: config.streamsPerUser,
    positionInterval: config.streamPing * 1000,
    onError,
  })
  const events = createEmitter({ deliveries, onEmitted: tail.nudge, strict: config.validateResponses })
  const storage = createStorage(database, config, { onError })
  const upstreams = createUpstreams(config, { onError })
  const writings = createWritings({ database, listener, principals, events, upstreams, onError })
  const gatewayJobs = jobs.queue<GatewayJob>(gatewayQueue)
  const gateways = createGateways(
    sandbox,
    config.stripe === null ? null : createStripeGateway({ ...config.stripe, jobs: gatewayJobs, onError }),
  )
  const egress = createEgress({ allowed: config.webhookAllowedNetworks })
  // When everybody above has said what to hear.
  listener.start()
  tail.start()
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
    tail,
    egress,
    storage,
    upstreams,
    gateways,
    gatewayJobs,
    writings,
    checks: { database: () => database.ping(), queue: () => jobs.ping(), storage: () => storage.ping() },
    async close() {
      // First what calls into the others, last what they all need.
      await tail.close()
      await writings.close()
      await upstreams.close()
      await listener.close()
      await egress.close()
      gateways.stripe?.disconnect()
      await storage.close()
      await jobs.close()
      await lastUsed.close()
      await database.close()
    },
  }
}
