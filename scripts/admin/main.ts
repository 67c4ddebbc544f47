// `npm run admin -- COMMAND`: administration without an API key, directly on the database of DATABASE_URL
// or the embedded one. The server may be running or not.
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ConfigError, loadEnvFile, readConfig } from '../../infra/config/config.ts'
import type { Database } from '../../infra/database/database.ts'
import { ApiError } from '../../infra/errors.ts'
import { createEmitter, type DeliveryJob, type Emitter } from '../../services/events/emit.ts'
import { createJobQueues } from '../../infra/jobs/queue.ts'
import { deliveryQueue } from '../../services/webhooks/worker.ts'
import { newSecret } from '../../infra/encryption/api-key-format.ts'
import { openCipher, SecretKeyError } from '../../infra/encryption/secret-key.ts'
import { EmbeddedPostgresError } from '../../infra/postgres/embedded.ts'
import { MigrationError, readMigrations } from '../../infra/postgres/migrations.ts'
import { readAuditLog, verifyChain } from '../../services/audit/chain.ts'
import { removeTotp } from '../../services/auth/totp.ts'
import { storeToken } from '../../services/auth/tokens/mailed-tokens.ts'
import { linkOf, linkTarget } from '../../services/mail/templates.ts'
import { mailQueue, type MailJob } from '../../services/mail/mails.ts'
import { readOutbox } from '../../services/mail/outbox.ts'
import { confirmCopy } from '../../services/backup/restored-copy.ts'
import { setLimits } from '../../services/organizations/organizations.ts'
import { insertUser, toUser } from '../../services/users/users.ts'
import { insertApiKey, toApiKey } from '../../services/users/api-keys.ts'
import { allScopes, defaultScopes, type Scope } from '../../services/users/scopes.ts'
import { replaceLostSecrets } from '../../services/webhooks/secrets.ts'
import { StoreOwnershipError } from '../../services/storage/ownership.ts'
import { describeStore, moveFilesTo, takeOverStore } from './store.ts'
import { CommandError } from '../command/run-command.ts'
import { withDatabase } from '../command/with-database.ts'
import { answerHelp } from '../../infra/command-help.ts'

const usage = `npm run admin -- users                                  lists the users
npm run admin -- doctor [--json]                        checks the settings and everything that they name
npm run admin -- keys [--user ID|EMAIL]                 lists the API keys, without their secrets
npm run admin -- create-user --email E --name N [--role user|admin]
                                                        creates a user and an API key, and prints the key
npm run admin -- create-key --user ID|EMAIL --name N [--scopes a,b] [--days N]
                                                        creates an API key and prints it
npm run admin -- revoke-key --id KEY_ID                 revokes an API key at once
npm run admin -- organization-limits --id ORGANIZATION_ID own|shared
                                                        gives an organization its own limits, or an owner's
npm run admin -- outbox                                 shows the e-mails that were not sent
npm run admin -- password-link [--user ID|EMAIL]        prints a link that sets the password of a user, or of
                                                        the first one, within an hour
npm run admin -- remove-second-factor --user ID|EMAIL   lets a user who has lost the app sign in without it
npm run admin -- verify-audit                           finds entries of the audit log that were changed
npm run admin -- export-audit                           prints the audit log, one JSON object a line
npm run admin -- new-key                                prints a new random key for BOOTSTRAP_API_KEY
npm run admin -- store                                  shows which database the file store belongs to
npm run admin -- store adopt                            makes the file store that of this database
npm run admin -- move-files --to s3|disk [--delete-source]
                                                        moves the files to another store, while servers run
npm run admin -- confirm-restore                        lets a restored copy send webhooks and charge
npm run admin -- replace-lost-secrets                   gives a new secret to the webhook endpoints whose
                                                        secret was encrypted with a lost SECRET_KEY`

answerHelp(import.meta, usage)

const migrationsFolder = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
const names = [
  'users',
  'doctor',
  'keys',
  'create-user',
  'create-key',
  'revoke-key',
  'organization-limits',
  'outbox',
  'password-link',
  'remove-second-factor',
  'verify-audit',
  'export-audit',
  'new-key',
  'store',
  'move-files',
  'confirm-restore',
  'replace-lost-secrets',
]

/** The command failed; the message is one sentence for the operator. */
class AdminError extends Error {}

const { values, positionals } = parse()

function parse() {
  const [first] = process.argv.slice(2)
  // Checked before the options.
  if (first !== undefined && !first.startsWith('-') && !names.includes(first)) {
    console.error(`Unknown command \`${first}\`. The commands are ${names.join(', ')}.\n\n${usage}`)
    process.exit(2)
  }
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        user: { type: 'string' },
        email: { type: 'string' },
        name: { type: 'string' },
        role: { type: 'string' },
        scopes: { type: 'string' },
        days: { type: 'string' },
        id: { type: 'string' },
        json: { type: 'boolean' },
        to: { type: 'string' },
        'delete-source': { type: 'boolean' },
      },
    })
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const commands: Record<string, (db: Database, events: Emitter) => Promise<void>> = {
  async 'replace-lost-secrets'(db) {
    const ids = await replaceLostSecrets(db, openCipher(readConfig()))
    table(
      ['endpoint'],
      ids.map((id) => [id]),
    )
    console.error(
      'Start the servers again. The owners of these endpoints must rotate the secret to learn it.',
    )
  },

  async outbox(db) {
    const mails = await readOutbox(db, openCipher(readConfig()))
    if (mails.length === 0) console.error('The outbox is empty.')
    for (const { createdAt, recipient, subject, status, error, text } of mails)
      console.log(
        `${createdAt}  ${status}${error === null ? '' : ` (${error})`}\nTo: ${recipient}\n` +
          `Subject: ${subject ?? ''}\n\n${text ?? ''}`,
      )
  },

  async 'organization-limits'(db) {
    const [, limits] = positionals
    if (limits !== 'own' && limits !== 'shared') throw new AdminError('Say `own` or `shared`.')
    const owner = await setLimits(db, required('id'), limits)
    console.log(
      `Its service accounts use ${owner === null ? 'limits of their own' : `the limits of ${owner}`} now.`,
    )
  },

  async 'password-link'(db) {
    const { port, signInUrl, publicUrl, bootstrapEmail } = readConfig()
    const { email } = await findUser(db, values.user ?? bootstrapEmail)
    const kind = 'password_reset'
    const token = await storeToken(db, { kind, email: email! })
    const target = linkTarget({ signInUrl, publicUrl: publicUrl ?? `http://127.0.0.1:${port}` })!
    console.log(linkOf(target, kind, { token }))
  },

  async 'remove-second-factor'(db, events) {
    const user = await findUser(db, required('user'))
    const mails = createJobQueues({ database: db }).queue<MailJob>(mailQueue)
    const cipher = openCipher(readConfig())
    await db.transaction((tx) => removeTotp(tx, { cipher, mails, events }, user))
    console.log(`${user.id} signs in without a second factor now.`)
  },

  async 'verify-audit'(db) {
    const { entries, broken, head } = await verifyChain(db, openCipher(readConfig()))
    if (broken !== null) throw new AdminError(`Entry ${broken.sequence}: ${broken.reason}.`)
    console.log(`Unchanged: ${entries}. The last entry: ${head.sequence} ${head.signature}`)
    console.error('Keep the last line elsewhere: an audit log that ends before it was cut off.')
  },

  async 'export-audit'(db) {
    for await (const entry of readAuditLog(db)) console.log(JSON.stringify(entry))
  },

  async store(db) {
    const [, action] = positionals
    if (action === undefined) return await describeStore(db)
    if (action !== 'adopt') throw new AdminError('The commands are `store` and `store adopt`.')
    await takeOverStore(db)
  },

  async 'move-files'(db) {
    const isDone = await moveFilesTo(db, values.to, { deletesSource: values['delete-source'] === true })
    if (!isDone) process.exitCode = 1
  },

  async 'confirm-restore'(db) {
    const backupTime = await confirmCopy(db)
    if (backupTime === null) throw new AdminError('There is no restored copy that is not confirmed.')
    console.log(`Confirmed the copy of ${backupTime}. Webhooks and charges begin within a few seconds.`)
  },

  async users(db) {
    const rows = await db.prisma.user.findMany({
      where: { status: { not: 'deleted' } },
      orderBy: { createdAt: 'asc' },
    })
    table(
      ['id', 'email', 'name', 'role', 'status', 'created_at'],
      rows.map((r) => [r.id, r.email!, r.name, r.role, r.status, r.createdAt.toISOString()]),
    )
  },

  async keys(db) {
    const userId = values.user === undefined ? undefined : (await findUser(db, values.user)).id
    const rows = await db.prisma.apiKey.findMany({
      where: { userId },
      orderBy: { createdAt: 'asc' },
      include: { user: { select: { email: true } } },
    })
    table(
      ['id', 'owner', 'name', 'start', 'scopes', 'state', 'last_used_at'],
      rows.map((r) => [
        r.id,
        r.user.email ?? '',
        r.name,
        `${r.start}…`,
        r.scopes.join(','),
        stateOf(r),
        r.lastUsedAt?.toISOString() ?? 'never',
      ]),
    )
  },

  async 'create-user'(db, events) {
    const email = required('email')
    const name = required('name')
    const role = values.role ?? 'user'
    if (role !== 'user' && role !== 'admin')
      throw new AdminError(`--role must be user or admin, not \`${role}\`.`)
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email))
      throw new AdminError(`\`${email}\` is not an e-mail address.`)
    const created = await db.transaction(async (tx) => {
      const user = await insertUser(tx, { email, emailVerified: true, name, role })
      await events.emit(tx, 'user.created', toUser(user, ''))
      return {
        user,
        key: await insertApiKey(tx, keyMode, {
          userId: user.id,
          name: 'first key',
          scopes: defaultScopes(role),
          projectIds: null,
          expiresAt: null,
        }),
      }
    })
    console.log(`user  ${created.user.id}\nkey   ${created.key.key}   (shown only once)`)
  },

  async 'create-key'(db, events) {
    const user = await findUser(db, required('user'))
    const scopes = values.scopes?.split(',').map((s) => s.trim()) ?? defaultScopes(user.role)
    const unknown = scopes.find((scope) => !(allScopes as readonly string[]).includes(scope))
    if (unknown !== undefined)
      throw new AdminError(`Unknown scope \`${unknown}\`. The scopes are ${allScopes.join(', ')}.`)
    if (values.days !== undefined && !/^[1-9]\d{0,4}$/.test(values.days))
      throw new AdminError('--days must be an integer of at least 1.')
    const expiresAt =
      values.days === undefined ? null : new Date(Date.now() + Number(values.days) * 86_400_000)
    const key = await db.transaction(async (tx) => {
      const created = await insertApiKey(tx, keyMode, {
        userId: user.id,
        name: required('name'),
        scopes: scopes as Scope[],
        projectIds: null,
        expiresAt,
      })
      await events.emit(tx, 'api_key.created', created, { userId: user.id })
      return created
    })
    console.log(`id    ${key.id}\nkey   ${key.key}   (shown only once)`)
  },

  async 'revoke-key'(db, events) {
    const id = required('id')
    await db.transaction(async (tx) => {
      const { count } = await tx.prisma.apiKey.updateMany({
        where: { id, revokedAt: null },
        data: { revokedAt: new Date() },
      })
      if (count === 0) throw new AdminError(`There is no active key ${id}.`)
      const row = await tx.prisma.apiKey.findUniqueOrThrow({ where: { id } })
      const key = toApiKey(row)
      await events.emit(tx, 'api_key.revoked', key, {
        previous: { ...key, revoked_at: null },
        userId: row.userId,
      })
    })
    console.log(`Revoked ${id}.`)
  },
}

let keyMode: 'live' | 'test' = 'live'

await main().catch((error: Error) => {
  const expected =
    error instanceof AdminError ||
    error instanceof ApiError ||
    error instanceof CommandError ||
    error instanceof ConfigError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof SecretKeyError ||
    error instanceof StoreOwnershipError ||
    error instanceof MigrationError
  console.error(expected ? error.message : error.stack)
  process.exitCode = 1
})

async function main(): Promise<void> {
  const [name] = positionals
  if (name === 'doctor') {
    // It loads the clients of all services, which no other command needs.
    const { runDoctor } = await import('./doctor.ts')
    process.exitCode = (await runDoctor({ json: values.json === true })) ? 0 : 1
    return
  }
  loadEnvFile()
  if (name === 'new-key')
    return console.log(newSecret(readConfig({ ...process.env, BOOTSTRAP_API_KEY: undefined }).keyMode))
  if (name === undefined || !Object.hasOwn(commands, name)) {
    console.error(usage)
    process.exitCode = 2
    return
  }
  const config = readConfig()
  keyMode = config.keyMode
  console.error(`Database: ${config.databaseUrl === null ? config.dataDir : describeUrl(config.databaseUrl)}`)
  const onPrepared = ([applied]: string[]): void => {
    if (applied === readMigrations(migrationsFolder)[0].name)
      console.error(
        'This command has created the database. To use the database of a server, set ' +
          `${config.databaseUrl === null ? 'DATA_DIR' : 'DATABASE_URL'} to the server's value.`,
      )
  }
  const statementTimeout = name === 'move-files' ? 600_000 : undefined
  await withDatabase(config, { onPrepared, statementTimeout }, async (db) => {
    const deliveries = createJobQueues({ database: db }).queue<DeliveryJob>(deliveryQueue)
    // No notification is needed: servers and workers also poll the event log.
    await commands[name](db, createEmitter({ deliveries, onEmitted: () => {}, strict: false }))
  })
}

/** Host and name of a database, without credentials. */
function describeUrl(url: string): string {
  if (!URL.canParse(url)) return 'DATABASE_URL'
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') || host || 'localhost'}${pathname}`
}

async function findUser(db: Database, idOrEmail: string) {
  const user = await db.prisma.user.findFirst({
    where: { OR: [{ id: idOrEmail }, { email: idOrEmail.toLowerCase() }], status: { not: 'deleted' } },
  })
  if (user === null) throw new AdminError(`There is no user ${idOrEmail}.`)
  return user
}

function required(name: Exclude<keyof typeof values, 'json' | 'delete-source'>): string {
  const value = values[name]
  if (value === undefined || value.trim() === '') throw new AdminError(`--${name} is required.`)
  return value
}

function stateOf(key: { revokedAt: Date | null; expiresAt: Date | null }): string {
  if (key.revokedAt !== null) return 'revoked'
  return key.expiresAt !== null && key.expiresAt <= new Date() ? 'expired' : 'active'
}

function table(head: string[], rows: string[][]): void {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i].length)))
  for (const row of [head, ...rows])
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    )
}
