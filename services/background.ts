// Starts the background workers of a server or a worker process: webhooks, documents, payments and data
// retention.
import { setTimeout as sleep } from 'node:timers/promises'
import { budgetRetentionTasks, budgetTasks } from './budgets/budgets.ts'
import { chatRetentionTasks, staleAnswerTasks } from './ai/chat/retention.ts'
import { knowledgeRetentionTasks, removedChunkTasks, documentRequeueTasks } from './ai/knowledge/retention.ts'
import { createSourceWorker } from './ai/sources/worker.ts'
import { createDocumentWorker, documentQueue } from './ai/knowledge/worker.ts'
import type { Database } from '../infra/database/database.ts'
import type { BackgroundWorker } from '../infra/jobs/worker-loop.ts'
import { isConfirmed, unconfirmedMessage } from './backup/restored-copy.ts'
import { startRetention } from '../infra/jobs/retention.ts'
import { coreRetentionTasks, countTasks } from './deletion/retention-tasks.ts'
import { portalTasks } from './payments/portal/sessions.ts'
import { salesCountTasks } from './payments/retention.ts'
import { meterRetentionTasks, usageFoldTasks } from './payments/usage/retention.ts'
import { exportRetentionTasks, exportQueue } from './exports/exports.ts'
import { createExportWorker } from './exports/worker.ts'
import { jobRetentionTasks, trackedJobQueue } from './jobs/jobs.ts'
import { createTrackedJobWorker } from './jobs/worker.ts'
import { createPaymentWorker } from './payments/worker.ts'
import { stripeEventRetentionTasks } from './payments/stripe/events.ts'
import { createGatewayWorker, gatewayQueue } from './payments/gateway-worker.ts'
import type { Services } from './services.ts'
import { fileExpiryTasks, storageRetentionTasks } from './storage/retention.ts'
import { storageJobs } from './storage/storage-jobs.ts'
import type { SweepLog } from './storage/sweep.ts'
import { surplusRequestTasks, usageRetentionTasks } from './usage/usage.ts'
import { encryptAllSecrets } from './webhooks/secrets.ts'
import { mailQueue } from './mail/mails.ts'
import { linkTarget } from './mail/templates.ts'
import { auditRetentionTasks } from './audit/audit-log.ts'
import { createMailWorker } from './mail/worker.ts'
import { keyRetentionTasks } from './users/api-keys.ts'
import { signInRetentionTasks } from './auth/retention.ts'
import { reencryptTotp } from './auth/totp.ts'
import { deliveryQueue, WebhookWorker } from './webhooks/worker.ts'

export interface BackgroundWorkers {
  /** Stops polling and gives running jobs a few seconds to finish. */
  stop(): Promise<void>
}

export interface BackgroundWorkersOptions {
  /** Whether this process runs jobs (webhooks, documents, payments). Retention runs in every process. */
  runJobs: boolean
  onError: (error: Error) => void
  log: SweepLog
  /** Milliseconds between two polls for due jobs. Default 1,000. New jobs wake the workers at once. */
  interval?: number
}

export async function startBackgroundWorkers(
  services: Services,
  { runJobs, onError, log, interval }: BackgroundWorkersOptions,
): Promise<BackgroundWorkers> {
  const retention = startRetentionRounds(services, { onError, log })
  const encryption = startEncryption(services, onError)
  if (!runJobs) return { stop: () => stopAll([retention, encryption]) }
  const {
    config,
    database,
    deliveries,
    documents,
    exports,
    trackedJobs,
    webhookClient,
    cipher,
    events,
    gatewayJobs,
    gateways,
    receiptMails,
    dunning,
    usageDays,
    jobs,
    storage,
    providers,
    mails,
    mailTransport,
  } = services
  const drainTimeoutMs = Math.min(5_000, config.shutdownTimeout * 1000)
  const webhookWorker = new WebhookWorker({
    database,
    deliveries,
    webhookClient,
    cipher,
    mails,
    events,
    concurrency: config.webhookConcurrency,
    onError,
    interval,
    drainTimeoutMs,
  })
  const documentWorker = createDocumentWorker({
    database,
    documents,
    events,
    storage,
    embed: providers.embed,
    tokensPerDay: config.aiTokensPerDay,
    maxBytes: config.documentMaxBytes,
    concurrency: config.documentConcurrency,
    onError,
    interval,
    drainTimeoutMs,
  })
  const sourceWorker = createSourceWorker({
    database,
    documents,
    events,
    webhookClient,
    onError,
    interval,
    drainTimeoutMs,
  })
  const exportWorker = createExportWorker({
    database,
    exports,
    events,
    storage,
    config,
    onError,
    interval,
    drainTimeoutMs,
  })
  const trackedJobWorker = createTrackedJobWorker({
    database,
    trackedJobs,
    events,
    kinds: storageJobs({ storage, events, config }),
    onError,
    interval,
    drainTimeoutMs,
  })
  const paymentWorker = createPaymentWorker({
    database,
    events,
    gateways,
    receiptMails,
    dunning,
    usageDays,
    onError,
    interval,
  })
  const gatewayWorkers =
    gateways.remotes.length === 0
      ? []
      : [
          createGatewayWorker({
            database,
            events,
            gateways,
            receiptMails,
            dunning,
            usageDays,
            jobs: gatewayJobs,
            onError,
            interval,
            drainTimeoutMs,
          }),
        ]
  const mailWorker = createMailWorker({
    database,
    mails,
    cipher,
    transport: mailTransport,
    signUp: config.signUp,
    target: linkTarget(config),
    onError,
    interval,
    drainTimeoutMs,
  })
  const outwardWorkers = [
    webhookWorker,
    documentWorker,
    sourceWorker,
    exportWorker,
    trackedJobWorker,
    paymentWorker,
    mailWorker,
    ...gatewayWorkers,
  ]
  jobs.onAdded(deliveryQueue.name, webhookWorker.wake)
  jobs.onAdded(documentQueue.name, documentWorker.wake)
  jobs.onAdded(exportQueue.name, exportWorker.wake)
  jobs.onAdded(trackedJobQueue.name, trackedJobWorker.wake)
  jobs.onAdded(mailQueue.name, mailWorker.wake)
  for (const worker of gatewayWorkers) jobs.onAdded(gatewayQueue.name, worker.wake)
  const outward = await startWhenConfirmed(database, outwardWorkers, { onError, log })
  return {
    stop: () => stopAll([retention, encryption, outward]),
  }
}

/** Milliseconds between two looks whether a restored copy was confirmed. */
const confirmationInterval = 3_000

/** Starts workers with effects outside, in a restored copy as soon as the operator confirms it. */
async function startWhenConfirmed(
  database: Database,
  workers: BackgroundWorker[],
  { onError, log }: Pick<BackgroundWorkersOptions, 'onError' | 'log'>,
): Promise<BackgroundWorkers> {
  const stopping = new AbortController()
  const start = (): void => {
    for (const worker of workers) worker.start()
  }
  const poll = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(confirmationInterval, undefined, { signal: stopping.signal }).catch(() => {})
      const confirmed = await isConfirmed(database).catch((error: Error) => {
        onError(error)
        return false
      })
      if (confirmed && !stopping.signal.aborted) return start()
    }
  }
  let waiting: Promise<void> = Promise.resolve()
  if (await isConfirmed(database)) start()
  else {
    log.warn({}, unconfirmedMessage)
    waiting = poll()
  }
  return {
    async stop() {
      stopping.abort()
      await waiting
      await stopAll(workers)
    },
  }
}

async function stopAll(workers: BackgroundWorkers[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop()))
}

/** Encrypts the secrets that a previous key has encrypted. */
function startEncryption(
  { database, cipher }: Services,
  onError: BackgroundWorkersOptions['onError'],
): BackgroundWorkers {
  const stopping = new AbortController()
  const encrypt = async (): Promise<void> => {
    await reencryptTotp(database, cipher, stopping.signal)
    await encryptAllSecrets(database, cipher, { signal: stopping.signal })
  }
  const done = encrypt().catch((error) => {
    if (!stopping.signal.aborted) onError(error as Error)
  })
  return {
    async stop() {
      stopping.abort()
      await done
    },
  }
}

/**
 * Starts the retention rounds: most tasks run hourly, tasks whose effect users see run every minute. The
 * leader adds up the changes of counters every five seconds.
 */
function startRetentionRounds(
  services: Services,
  { onError, log }: Pick<BackgroundWorkersOptions, 'onError' | 'log'>,
): BackgroundWorkers {
  const { config, database, documents, leadership } = services
  const hourly = startRetention(database, {
    tasks: [
      ...coreRetentionTasks({ eventDays: config.eventRetentionDays }),
      ...storageRetentionTasks(services, { config, log }),
      ...knowledgeRetentionTasks(),
      ...chatRetentionTasks(),
      ...stripeEventRetentionTasks(),
      ...budgetRetentionTasks(),
      ...meterRetentionTasks({ eventDays: config.usageEventDays }),
      ...usageRetentionTasks({ days: config.requestRetentionDays }),
      ...auditRetentionTasks(config.auditRetentionDays),
      ...signInRetentionTasks(),
      ...keyRetentionTasks(),
      ...jobRetentionTasks(),
    ],
    onError,
  })
  const frequent = startRetention(database, {
    tasks: [
      ...fileExpiryTasks(services),
      ...documentRequeueTasks(documents),
      ...removedChunkTasks(),
      ...salesCountTasks(),
      ...portalTasks(),
      ...staleAnswerTasks(services),
      ...budgetTasks(services),
      ...exportRetentionTasks(),
      ...surplusRequestTasks(config.requestsKeptPerUser),
    ],
    round: 'endings',
    interval: 60_000,
    delay: 10_000,
    onError,
  })
  const counting = startRetention(database, {
    tasks: [...countTasks(), ...usageFoldTasks()],
    leads: () => leadership.leading,
    // A round reads all changes since the last one.
    interval: 1_000,
    delay: 1_000,
    onError,
  })
  return {
    async stop() {
      await Promise.all([hourly.stop(), frequent.stop(), counting.stop()])
    },
  }
}
