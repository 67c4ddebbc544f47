// What goes on beside the requests, in servers and in workers alike: webhooks are sent, documents read, subscriptions renewed, and what time makes
// superfluous is removed.
import { chatRetentionTasks, staleAnswerTasks } from './ai/chat/retention.ts'
import { createIngestion } from './ai/knowledge/worker.ts'
import { knowledgeRetentionTasks, removedChunkTasks, documentRequeueTasks } from './ai/knowledge/retention.ts'
import { startRetention } from '../infra/jobs/retention.ts'
import { coreRetentionTasks, fileExpiryTasks } from './retention-tasks.ts'
import { createBilling } from './payments/worker.ts'
import { stripeEventRetentionTasks } from './payments/stripe/events.ts'
import { createStripeWorker } from './payments/stripe/worker.ts'
import type { Services } from './services.ts'
import { storageRetentionTasks } from './storage/retention.ts'
import { createSender } from './webhooks/worker.ts'

export interface Work {
  /** Lets what is under way finish, for a moment. */
  stop(): Promise<void>
}

export interface WorkOptions {
  /** Whether this process sends webhooks, reads documents and renews subscriptions, or leaves them to others. */
  sends: boolean
  onError: (error: Error) => void
  /** How often it is looked for what is due, in ms. Default 1,000; what is new is done at once. */
  interval?: number
}

export async function startWork(
  services: Services,
  { sends, onError, interval }: WorkOptions,
): Promise<Work> {
  const {
    config,
    database,
    deliveries,
    documents,
    webhookClient,
    events,
    gatewayJobs,
    gateways,
    jobs,
    storage,
    eventStreams,
    providers,
  } = services
  const rare = [
    ...coreRetentionTasks({ eventDays: config.eventRetentionDays }),
    ...storageRetentionTasks(services, config),
    ...knowledgeRetentionTasks(),
    ...chatRetentionTasks(),
    ...stripeEventRetentionTasks(),
  ]
  const rounds = [
    startRetention(database, { tasks: rare, onError }),
    // Deleted files give their room back within a minute, and what cannot go on ends.
    startRetention(database, {
      tasks: [
        ...fileExpiryTasks(services),
        ...documentRequeueTasks(documents),
        ...removedChunkTasks(),
        ...staleAnswerTasks(services),
      ],
      round: 'endings',
      interval: 60_000,
      delay: 10_000,
      onError,
    }),
  ]
  const housekeeping = {
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()))
    },
  }
  if (!sends) return housekeeping
  // A stop must be over before the process is.
  const grace = Math.min(5_000, config.shutdownTimeout * 1000)
  const sender = createSender({
    database,
    deliveries,
    webhookClient,
    events,
    concurrency: config.webhookConcurrency,
    onError,
    interval,
    grace,
  })
  const ingestion = createIngestion({
    database,
    documents,
    events,
    storage,
    embed: providers.embed,
    maxBytes: config.documentMaxBytes,
    concurrency: config.documentConcurrency,
    onError,
    interval,
    grace,
  })
  const billing = createBilling({ database, events, gateways, onError, interval })
  const { stripe } = gateways
  const payments =
    stripe === null
      ? null
      : createStripeWorker({
          database,
          events,
          gateways,
          stripe,
          jobs: gatewayJobs,
          onError,
          interval,
          grace,
        })
  eventStreams.onNewEvents(sender.wake)
  // Whatever is to be read was an event too.
  eventStreams.onNewEvents(ingestion.wake)
  if (payments !== null) eventStreams.onNewEvents(payments.wake)
  await jobs.supervise()
  sender.start()
  ingestion.start()
  billing.start()
  payments?.start()
  return {
    async stop() {
      await Promise.all([
        housekeeping.stop(),
        sender.close(),
        ingestion.close(),
        billing.close(),
        payments?.close(),
      ])
    },
  }
}
