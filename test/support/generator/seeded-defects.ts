// Defects to seed into a copy of the server, each by replacing a piece of source text. The text must occur
// exactly once in its file; otherwise seeding throws.
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Defect {
  name: string
  file: string
  text: string | RegExp
  replacement: string
  /** The operations at which the contract tests find it, and the possible `check`s of the finding. */
  operations: string[]
  checks: string[]
}

const root = join(import.meta.dirname, '../../..')
const serialized = '  return serializers[serializer](body)\n'
/** Changes the output of a serializer. */
const rewriteOutput = (serializer: string, change: string) => ({
  file: 'app/http/response.ts',
  text: serialized,
  replacement:
    `  if (serializer === '${serializer}') return serializers[serializer](body)${change}\n` + serialized,
})
/** Accepts values that violate the constraint. */
const skipConstraint = (validator: string, path: string, keyword: string) => ({
  file: 'infra/validation/validators.ts',
  text: /export function check\([^)]*\): void \{\n/,
  replacement: `$&  if (name === '${validator}') {
    const validate: ValidateFunction = validators[name]
    const lax = Object.assign((given: unknown) => {
      lax.errors = validate(given)
        ? []
        : validate.errors!.filter(
            (error) => error.instancePath !== '${path}' || error.keyword !== '${keyword}',
          )
      return lax.errors.length === 0
    }, { errors: [] as NonNullable<ValidateFunction['errors']> })
    return checkWith(lax as unknown as ValidateFunction, value, location, problems)
  }\n`,
})

export const defects: Defect[] = [
  {
    name: 'a property is missing in a response',
    ...rewriteOutput('replyAiUsage', '.replace(/,"cost_micros":\\d+/, \'\')'),
    operations: ['getAiUsage'],
    checks: ['body'],
  },
  {
    name: 'a creation answers 200',
    file: 'app/http/response.ts',
    text: '  return { status, headers, text }\n',
    replacement: "  return { status: info.id === 'createKnowledgeBase' ? 200 : status, headers, text }\n",
    operations: ['createKnowledgeBase'],
    checks: ['undeclared-status'],
  },
  {
    name: 'an operation needs no key',
    file: 'generated/operations.ts',
    text: /(\n  listProducts: \{[^}]*?scopes: )\["payments:read"\]/,
    replacement: '$1null',
    operations: ['listProducts'],
    checks: ['no-key'],
  },
  {
    name: 'a scope is not required',
    file: 'app/http/authentication.ts',
    text: 'if (refusal !== null) throw refusal',
    replacement: "if (refusal !== null && info.id !== 'getSettings') throw refusal",
    operations: ['getSettings'],
    checks: ['scope'],
  },
  {
    name: 'the second page skips an item',
    file: 'infra/database/list.ts',
    text: 'offset: offsetOf(query)',
    replacement: "offset: offsetOf(query) + (label === 'chat/list-sessions' ? 1 : 0)",
    operations: ['listSessions'],
    checks: ['page-length', 'page-total', 'pages'],
  },
  {
    name: 'a cursor skips an item',
    file: 'infra/database/list.ts',
    text: 'rows[limit - 1].sort_values',
    replacement: "rows[label === 'chat/list-sessions' ? limit : limit - 1].sort_values",
    operations: ['listSessions'],
    checks: ['cursor'],
  },
  {
    name: 'the total is one too many',
    file: 'services/projects/members.ts',
    text: /return await sql\.listMembers\(db, (\{[^}]*\})\)/,
    replacement: [
      'const page = await sql.listMembers(db, $1)',
      'page.pagination.total += 1',
      'return page',
    ].join('\n'),
    operations: ['listMembers'],
    checks: ['page-length', 'page-total'],
  },
  {
    name: 'a property leaks',
    ...rewriteOutput('replyUser', '.replace(/\\}$/, \',"password_hash":"x"}\')'),
    operations: ['getUser', 'updateUser'],
    checks: ['leak'],
  },
  {
    name: 'an update ignores If-Match',
    file: 'app/http/preconditions.ts',
    text: 'if (this.#header !== undefined && !matches(',
    replacement: "if (this.#header !== undefined && this.#info.id !== 'updateWebhookEndpoint' && !matches(",
    operations: ['updateWebhookEndpoint'],
    checks: ['if-match'],
  },
  {
    name: 'an ETag never changes',
    file: 'app/http/response.ts',
    text: '  const { volatile } = info.replies[status]\n',
    replacement:
      "  if (info.path === '/v1/payments/products/{id}') return '\"product\"'\n" +
      '  const { volatile } = info.replies[status]\n',
    operations: ['getProduct'],
    checks: ['etag'],
  },
  {
    name: 'an operation never answers 304',
    file: 'app/http/route.ts',
    text: "noneMatches(sent['if-none-match'], headers.etag)",
    replacement: "info.id !== 'getApiKey' && noneMatches(sent['if-none-match'], headers.etag)",
    operations: ['getApiKey'],
    checks: ['not-modified'],
  },
  {
    name: 'an Idempotency-Key is ignored',
    file: 'app/http/idempotency.ts',
    text: '    if (record !== undefined) {',
    replacement: "    if (record !== undefined && !request.path.endsWith('/api-keys')) {",
    operations: ['createApiKey'],
    checks: ['idempotency'],
  },
  {
    name: 'a deletion deletes nothing',
    file: 'handlers/storage-links.ts',
    text: 'const link = await revokeLink(tx, file, previous.id)',
    replacement: 'const link = revokeLink === undefined ? previous : previous',
    operations: ['revokeFileLink'],
    checks: ['deleted-read'],
  },
  {
    name: 'a deleted resource is still listed',
    file: 'generated/sql/webhooks.ts',
    text: 'WHERE user_id = $1 AND deleted_at IS NULL`',
    replacement: 'WHERE user_id = $1`',
    operations: ['listWebhookEndpoints'],
    checks: ['deleted-list-membership'],
  },
  {
    name: 'an update loses a property',
    file: 'handlers/ai-sessions.ts',
    text: /(data: \{\s*\.\.\.fields,\s*)systemPrompt,/,
    replacement: '$1title: undefined, systemPrompt,',
    operations: ['updateSession'],
    checks: ['update-value', 'update-read'],
  },
  {
    name: 'an update resets another property',
    file: 'services/users/users.ts',
    text: /data: \{\s*\.\.\.fields,\s*email,/,
    replacement: "data: { locale: 'en', ...fields, email,",
    operations: ['updateUser'],
    checks: ['update-others'],
  },
  {
    name: 'JSON has another media type',
    file: 'app/http/response.ts',
    text: '`${declared.contentType}; charset',
    replacement: "`${info.id === 'getStorageUsage' ? 'text/plain' : declared.contentType}; charset",
    operations: ['getStorageUsage'],
    checks: ['media-type'],
  },
  {
    name: 'a declared header field is missing',
    file: 'handlers/ai-sessions.ts',
    text: ', headers: { location: `/v1/ai/sessions/${session.id}` }',
    replacement: '',
    operations: ['createSession'],
    checks: ['header'],
  },
  {
    name: 'the header fields of the rate limit are missing',
    file: 'app/http/authentication.ts',
    text: 'await countRequest(limits, reply, info.rateLimit!, principal.accountId)\n',
    replacement:
      'await countRequest(limits, reply, info.rateLimit!, principal.accountId)\n' +
      "    if (info.id === 'getLimits') reply.removeHeader('ratelimit')\n",
    operations: ['getLimits'],
    checks: ['header'],
  },
  {
    name: 'an error has no envelope',
    file: 'app/http/errors.ts',
    text: ': known.toBody(requestId)\n',
    replacement: ': known.status === 412 ? { message: known.message } : known.toBody(requestId)\n',
    operations: ['updateProject', 'deleteProject'],
    checks: ['body'],
  },
  {
    name: 'a character outside the basic plane causes an error',
    file: 'handlers/payments-catalogue.ts',
    text: / {2}\.\.\.prices,\n/,
    replacement:
      '$&  async createProduct(request, services) {\n' +
      "    if (/[\\u{10000}-\\u{10ffff}]/u.test(request.body.name)) throw new Error('encoding')\n" +
      "    const products = resourceHandlers('Product', productsSql, { now: paymentsNow })\n" +
      '    return await products.createProduct(request, services)\n' +
      '  },\n',
    operations: ['createProduct'],
    checks: ['server-error'],
  },
  {
    name: 'maxLength is not checked',
    ...skipConstraint('bodyProfileUpdate', '/bio', 'maxLength'),
    operations: ['updateProfile'],
    checks: ['accepted', 'wrong-status'],
  },
  {
    name: 'a pattern is not checked',
    ...skipConstraint('bodySessionCreate', '/title', 'pattern'),
    operations: ['createSession'],
    checks: ['accepted', 'wrong-status'],
  },
  {
    name: 'an enum is not checked',
    ...skipConstraint('bodySettingsUpdate', '/theme', 'enum'),
    operations: ['updateSettings'],
    checks: ['accepted', 'server-error'],
  },
  {
    name: 'a minimum is not checked',
    ...skipConstraint('bodyFileLinkCreate', '/max_downloads', 'minimum'),
    operations: ['createFileLink'],
    checks: ['accepted', 'server-error'],
  },
  {
    name: 'a filter is ignored',
    file: 'handlers/payments-catalogue.ts',
    text: 'await prices.listPrices(request, services)',
    replacement:
      'await prices.listPrices({ ...request, query: { ...request.query, currency: undefined } }, services)',
    operations: ['listPrices'],
    checks: ['filter'],
  },
  {
    name: 'a sort order is ignored',
    file: 'services/users/api-keys.ts',
    text: 'family_of: familyOf, ...query })',
    replacement: "family_of: familyOf, ...query, sort: 'created_at' })",
    operations: ['listApiKeys'],
    checks: ['order'],
  },
  {
    name: 'a limit is ignored',
    file: 'services/users/users.ts',
    text: 'sql.listUsers(db, {\n    ...query,',
    replacement: 'sql.listUsers(db, {\n    ...query,\n    limit: 100,',
    operations: ['listUsers'],
    checks: ['pagination', 'page-length', 'page-duplicate', 'page-total', 'pages'],
  },
  {
    name: "another user's API key can be read",
    file: 'services/users/api-keys.ts',
    text: /if \(row\.userId !== userId\) throw [^\n]+\n/,
    replacement: 'if (userId === undefined) throw forbidden()\n',
    operations: ['getApiKey'],
    checks: ['tenant-isolation'],
  },
  {
    name: 'a time has another format',
    ...rewriteOutput('replyInvitation', '.replace(/("created_at":"[^T]+)T([^.]+)[^"]*/, \'$1 $2\')'),
    operations: ['getInvitation', 'addMember'],
    checks: ['body'],
  },
]

const parts = ['app', 'services', 'infra', 'handlers', 'generated', 'spec', 'prisma', 'package.json']

/** How often the text that the defect replaces occurs in the source. */
export function occurrencesOf({ file, text }: Defect): number {
  return count(readFileSync(join(root, file), 'utf8'), text)
}

function count(source: string, text: string | RegExp): number {
  return typeof text === 'string'
    ? source.split(text).length - 1
    : [...source.matchAll(new RegExp(text, 'g'))].length
}

/**
 * Copies the server into the folder and seeds these defects. Throws unless every text occurs exactly once.
 */
export function writeCopy(folder: string, seeded: Defect[]): void {
  for (const part of parts) cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const { name, file, text, replacement } of seeded) {
    const path = join(folder, file)
    const before = readFileSync(path, 'utf8')
    const times = count(before, text)
    if (times !== 1) throw new Error(`Cannot seed "${name}": its text occurs ${times} times in ${file}`)
    writeFileSync(
      path,
      typeof text === 'string' ? before.replace(text, () => replacement) : before.replace(text, replacement),
    )
  }
}
