// The mail worker: looks for the account of an e-mail, writes what it says and sends it. A failed attempt is
// repeated with growing delays for a day.
import * as sql from '../../generated/sql/auth.ts'
import type { Database, Transaction } from '../../infra/database/database.ts'
import type { Cipher } from '../../infra/encryption/cipher.ts'
import type { Job } from '../../infra/jobs/queue.ts'
import type { JobOutcome } from '../../infra/jobs/job-runs.ts'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import { tokenDigest } from '../../infra/encryption/tokens.ts'
import type { MailJob, Mails } from './mails.ts'
import { isLastAlert, isOverLimit, openKinds } from './limits.ts'
import {
  asLastAlert,
  lifetimes,
  renderMail,
  type LinkTarget,
  type MailContent,
  type Mailed,
  type MailKind,
  type Receipt,
} from './templates.ts'
import type { MailTransport } from './transport.ts'

export interface MailWorkerOptions {
  database: Database
  mails: Mails
  cipher: Cipher
  /** Null keeps the e-mails in the outbox. */
  transport: MailTransport | null
  /** SIGN_UP. */
  signUp: string
  /** SIGN_IN_URL. */
  target: LinkTarget | null
  onError: (error: Error) => void
  interval?: number
  drainTimeoutMs?: number
}

const atOnce = 8
const minute = 60_000
/** Milliseconds before each retry. */
const retryDelays = [minute, 5 * minute, 30 * minute, 120 * minute, 300 * minute, 720 * minute]

export function createMailWorker({
  database,
  mails,
  cipher,
  transport,
  signUp,
  target,
  onError,
  interval,
  drainTimeoutMs,
}: MailWorkerOptions): BackgroundWorker {
  const loop = new WorkerLoop({ poll, onError, interval, drainTimeoutMs })
  return loop

  async function poll(): Promise<boolean> {
    const free = atOnce - loop.running
    const fetched = free > 0 ? await mails.fetch(free) : []
    for (const job of fetched) loop.track(mails.run(job, () => run(job)))
    return fetched.length > 0
  }

  async function run(job: Job<MailJob>): Promise<JobOutcome> {
    const { id } = job.data
    const mail = await database.transaction((tx) => prepare(tx, id))
    if (mail === null) return await drop(job)
    if (transport === null) return await finish(job, 'kept')
    try {
      await transport.send(mail)
    } catch (error) {
      await retryLater(job, mail, error as Error)
      return 'failed'
    }
    await finish(job, 'sent')
  }

  /** The content and the recipient of an e-mail. Null if it is not to be sent. */
  async function prepare(tx: Transaction, id: string): Promise<Prepared | null> {
    const row = await sql.lockMail(tx, { id, open_kinds: openKinds })
    if (row === undefined) return null
    const { recipient, attempts } = row
    const asked = row.kind as WrittenKind
    if (isLate(asked, row.created_at)) return null
    const { lately, last_hour: lastHour, today, open_today: openToday } = row
    const earlier = { lately, lastHour, today, openToday }
    const isTooMany = isOverLimit(asked, earlier)
    const isLast = isLastAlert(asked, earlier)
    if (row.content !== null) {
      if (attempts === 0 && isTooMany) return null
      const text = decrypted(row.content, id)
      if (text === null) return null
      const content = JSON.parse(text) as MailContent
      if (attempts > 0 || !isLast) return { id, recipient, attempts, ...content }
      return { id, recipient, attempts, ...(await store(tx, id, asLastAlert(content))) }
    }
    const token = row.secret === null ? null : decrypted(row.secret, id)
    const isLost = row.secret !== null && token === null
    const kind = isLost || isTooMany ? null : await kindFor(tx, asked, recipient)
    if (token !== null && kind !== asked) await sql.deleteToken(tx, { digest: tokenDigest(token) })
    if (kind === null) return null
    const content = renderMail(kind, {
      token: kind === asked ? token : null,
      invitation: row.resource_id,
      target,
    })
    const stored = await store(tx, id, isLast ? asLastAlert(content) : content)
    return { id, recipient, attempts, ...stored }
  }

  async function store(tx: Transaction, id: string, content: MailContent): Promise<MailContent> {
    const { subject } = content
    await sql.storeContent(tx, { id, subject, content: cipher.encrypt(JSON.stringify(content), id) })
    return content
  }

  /** Null for what was encrypted with a key that is gone. */
  function decrypted(text: string, id: string): string | null {
    try {
      return cipher.decrypt(text, id)
    } catch (error) {
      onError(new Error(`the e-mail ${id} cannot be decrypted, and is dropped`, { cause: error }))
      return null
    }
  }

  /** The kind of e-mail that the address gets, because it has an account or none. */
  async function kindFor(tx: Transaction, kind: WrittenKind, email: string): Promise<WrittenKind | null> {
    if (!isMailed(kind) && kind !== 'sign_ins_blocked') return kind
    const account = await sql.findAccount(tx, { email })
    if (kind === 'sign_up') {
      if (account.is_taken) return 'account_exists'
      return signUp === 'invited' && !account.is_invited ? null : kind
    }
    if (kind === 'email_change') return account.is_taken ? null : kind
    return account.user_id === null ? null : kind
  }

  async function finish(job: Job<MailJob>, status: 'sent' | 'kept'): Promise<void> {
    await database.transaction(async (tx) => {
      await sql.finishMail(tx, { id: job.data.id, status, error: null })
      await mails.complete(tx, [job])
    })
  }

  /** Deletes an e-mail that will not be sent. */
  async function drop(job: Job<MailJob>): Promise<void> {
    await database.transaction(async (tx) => {
      await sql.deleteMail(tx, { id: job.data.id })
      await mails.complete(tx, [job])
    })
  }

  async function retryLater(
    job: Job<MailJob>,
    { id, recipient, attempts }: Prepared,
    error: Error,
  ): Promise<void> {
    const delay = retryDelays[attempts]
    const consequence = delay === undefined ? 'is given up' : `is repeated in ${delay / minute} minutes`
    onError(new Error(`the e-mail ${id} could not be sent and ${consequence}`, { cause: error }))
    await database.transaction(async (tx) => {
      const completed = await mails.complete(tx, [job])
      if (!completed.has(job.id)) return
      if (delay === undefined)
        return void (await sql.finishMail(tx, { id, status: 'failed', error: error.message }))
      await sql.noteFailedAttempt(tx, { id, error: error.message })
      await mails.add(tx, [{ data: { id }, group: recipient, startAfter: new Date(Date.now() + delay) }])
    })
  }
}

function isMailed(kind: MailKind): kind is Mailed {
  return kind in lifetimes
}

/** Whether the token of the e-mail has expired. */
function isLate(kind: MailKind, createdAt: string): boolean {
  return isMailed(kind) && Date.now() - Date.parse(createdAt) > lifetimes[kind] * 1000
}

/** Of an e-mail that the worker writes; of others it has the content. */
type WrittenKind = Exclude<MailKind, Receipt>

type Prepared = { id: string; recipient: string; attempts: number } & MailContent
