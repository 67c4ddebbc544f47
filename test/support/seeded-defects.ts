// Defects that a server of this API could have, each sown into a copy of it by replacing a piece of its text. A piece that is not there, or is there more
// than once, fails loudly: the defect would not be one.
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Defect {
  name: string
  file: string
  text: string | RegExp
  becomes: string
  /** The operations at which it shows, and the kinds of findings that it may be told by. */
  operations: string[]
  checks: string[]
}

const root = join(import.meta.dirname, '../..')
const written = '  return serializers[serializer](body)\n'
/** Changes what a serializer writes. */
const rewriting = (serializer: string, change: string) => ({
  file: 'app/http/response.ts',
  text: written,
  becomes: `  if (serializer === '${serializer}') return serializers[serializer](body)${change}\n${written}`,
})
const looked = 'problems: Problem[]): void {\n'
/** Lets what breaks a constraint through. */
const unvalidated = (validator: string, path: string, keyword: string) => ({
  file: 'infra/validation/validators.ts',
  text: looked,
  becomes: `${looked}  if (name === '${validator}') {
    const validate: ValidateFunction = validators[name]
    const lax = Object.assign((given: unknown) => {
      lax.errors = validate(given) ? [] : validate.errors!.filter((error) => error.instancePath !== '${path}' || error.keyword !== '${keyword}')
      return lax.errors.length === 0
    }, { errors: [] as NonNullable<ValidateFunction['errors']> })
    return checkWith(lax as unknown as ValidateFunction, value, location, problems)
  }\n`,
})

export const defects: Defect[] = [
  {
    name: 'a property is dropped from an answer',
    ...rewriting('replyAiUsage', '.replace(/,"cost_micros":\\d+/, \'\')'),
    operations: ['getAiUsage'],
    checks: ['body'],
  },
  {
    name: 'a creation answers 200',
    file: 'app/http/response.ts',
    text: '  return { status, headers, text }\n',
    becomes: "  return { status: info.id === 'createKnowledgeBase' ? 200 : status, headers, text }\n",
    operations: ['createKnowledgeBase'],
    checks: ['undeclared-status'],
  },
  {
    name: 'an operation wants no key',
    file: 'generated/operations.ts',
    text: /(\n  listProducts: \{[^}]*?scopes: )\["payments:read"\]/,
    becomes: '$1null',
    operations: ['listProducts'],
    checks: ['no-key'],
  },
  {
    name: 'a scope is not asked for',
    file: 'app/http/authentication.ts',
    text: 'for (const scope of info.scopes) {',
    becomes: "for (const scope of info.id === 'getSettings' ? [] : info.scopes) {",
    operations: ['getSettings'],
    checks: ['scope'],
  },
  {
    name: 'the second page begins one too late',
    file: 'services/ai/chat/sessions.ts',
    text: 'OFFSET ${value(offsetOf(query))}',
    becomes: 'OFFSET ${value(offsetOf(query) + (query.page > 1 ? 1 : 0))}',
    operations: ['listSessions'],
    checks: ['page-length', 'page-total', 'pages'],
  },
  {
    name: 'the total is one too many',
    file: 'handlers/members.ts',
    text: 'SELECT count(*)::int AS total FROM members',
    becomes: 'SELECT count(*)::int + 1 AS total FROM members',
    operations: ['listMembers'],
    checks: ['page-length', 'page-total'],
  },
  {
    name: 'a property leaks',
    ...rewriting('replyUser', '.replace(/\\}$/, \',"password_hash":"x"}\')'),
    operations: ['getUser', 'updateUser'],
    checks: ['leak'],
  },
  {
    name: 'If-Match is ignored by a change',
    file: 'app/http/route.ts',
    text: 'if (this.#header !== undefined && !matches(',
    becomes: "if (this.#header !== undefined && this.#info.id !== 'updateWebhookEndpoint' && !matches(",
    operations: ['updateWebhookEndpoint'],
    checks: ['if-match'],
  },
  {
    name: 'an ETag never changes',
    file: 'app/http/response.ts',
    text: '  const { volatile } = info.replies[status]\n',
    becomes:
      "  if (info.path === '/v1/payments/products/{id}') return '\"product\"'\n  const { volatile } = info.replies[status]\n",
    operations: ['getProduct'],
    checks: ['etag'],
  },
  {
    name: 'a 304 never comes',
    file: 'app/http/route.ts',
    text: 'if (info.etag && (request.method',
    becomes: "if (info.id !== 'getApiKey' && info.etag && (request.method",
    operations: ['getApiKey'],
    checks: ['not-modified'],
  },
  {
    name: 'an Idempotency-Key is ignored',
    file: 'app/http/idempotency.ts',
    text: '    if (record !== undefined) {',
    becomes: "    if (record !== undefined && !request.path.endsWith('/api-keys')) {",
    operations: ['createApiKey'],
    checks: ['idempotency'],
  },
  {
    name: 'a deletion deletes nothing',
    file: 'handlers/storage-links.ts',
    text: 'const link = await revokeLink(tx, file, previous.id)',
    becomes: 'const link = revokeLink === undefined ? previous : previous',
    operations: ['revokeFileLink'],
    checks: ['deleted-read'],
  },
  {
    name: 'what is deleted is still listed',
    file: 'services/webhooks/endpoints.ts',
    text: "const own = 'user_id = $1 AND deleted_at IS NULL'",
    becomes: "const own = 'user_id = $1'",
    operations: ['listWebhookEndpoints'],
    checks: ['deleted-listed'],
  },
  {
    name: 'a change loses a property',
    file: 'handlers/ai-sessions.ts',
    text: 'data: { ...fields, systemPrompt,',
    becomes: 'data: { ...fields, title: undefined, systemPrompt,',
    operations: ['updateSession'],
    checks: ['update-kept', 'update-seen'],
  },
  {
    name: 'a change resets another property',
    file: 'handlers/users.ts',
    text: 'data: { ...fields, email:',
    becomes: "data: { locale: 'en', ...fields, email:",
    operations: ['updateUser'],
    checks: ['update-others'],
  },
  {
    name: 'JSON has another media type',
    file: 'app/http/response.ts',
    text: '`${declared.contentType}; charset',
    becomes: "`${info.id === 'getStorageUsage' ? 'text/plain' : declared.contentType}; charset",
    operations: ['getStorageUsage'],
    checks: ['media-type'],
  },
  {
    name: 'a declared header field is missing',
    file: 'handlers/ai-sessions.ts',
    text: ', headers: { location: `/v1/ai/sessions/${session.id}` }',
    becomes: '',
    operations: ['createSession'],
    checks: ['header'],
  },
  {
    name: 'an error has no envelope',
    file: 'app/http/errors.ts',
    text: 'JSON.stringify(errorBody(known, request.id)))\n',
    becomes:
      'JSON.stringify(known.status === 412 ? { message: known.message } : errorBody(known, request.id)))\n',
    operations: ['updateProject', 'deleteProject'],
    checks: ['body'],
  },
  {
    name: 'a letter outside the basic plane is a failure',
    file: 'handlers/payments-catalogue.ts',
    text: '  async createProduct ({ body }, { db, events }) {\n',
    becomes:
      "  async createProduct ({ body }, { db, events }) {\n    if (/[\\u{10000}-\\u{10ffff}]/u.test(body.name)) throw new Error('encoding')\n",
    operations: ['createProduct'],
    checks: ['server-error'],
  },
  {
    name: 'maxLength is not looked at',
    ...unvalidated('bodyProfileUpdate', '/bio', 'maxLength'),
    operations: ['updateProfile'],
    checks: ['accepted', 'not-refused'],
  },
  {
    name: 'a pattern is not looked at',
    ...unvalidated('bodySessionCreate', '/title', 'pattern'),
    operations: ['createSession'],
    checks: ['accepted', 'not-refused'],
  },
  {
    name: 'an enum is not looked at',
    ...unvalidated('bodySettingsUpdate', '/theme', 'enum'),
    operations: ['updateSettings'],
    checks: ['accepted', 'server-error'],
  },
  {
    name: 'a minimum is not looked at',
    ...unvalidated('bodyFileLinkCreate', '/max_downloads', 'minimum'),
    operations: ['createFileLink'],
    checks: ['accepted', 'server-error'],
  },
  {
    name: 'a filter is ignored',
    file: 'services/payments/products-and-prices.ts',
    text: '  if (query.currency !== undefined) filters.push(`p.currency = $${values.push(query.currency)}`)\n',
    becomes: '',
    operations: ['listPrices'],
    checks: ['filter'],
  },
  {
    name: 'an order is ignored',
    file: 'handlers/api-keys.ts',
    text: "{ created_at: 'createdAt', name: 'name' }",
    becomes: "{ created_at: 'createdAt', name: 'createdAt' }",
    operations: ['listApiKeys'],
    checks: ['order'],
  },
  {
    name: 'a limit is ignored',
    file: 'handlers/users.ts',
    text: '...pageArgs(query, sortColumns) }',
    becomes: '...pageArgs(query, sortColumns), take: 100 }',
    operations: ['listUsers'],
    checks: ['page-length', 'page-twice', 'page-total', 'pages'],
  },
  {
    name: "another user's thing can be read",
    file: 'handlers/api-keys.ts',
    text: "  if (row.userId !== userId) throw forbidden('This API key is someone else\\'s.')\n",
    becomes: '  if (userId === undefined) throw forbidden()\n',
    operations: ['getApiKey'],
    checks: ['stranger'],
  },
  {
    name: 'a time has another format',
    ...rewriting('replyInvitation', '.replace(/("created_at":"[^T]+)T([^.]+)[^"]*/, \'$1 $2\')'),
    operations: ['getInvitation', 'addMember'],
    checks: ['body'],
  },
]

const parts = ['app', 'services', 'infra', 'handlers', 'generated', 'spec', 'prisma', 'package.json']

/** Copies the server into the folder with these defects. Throws where one cannot be sown. */
export function writeCopy(folder: string, sown: Defect[]): void {
  for (const part of parts) cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const { name, file, text, becomes } of sown) {
    const path = join(folder, file)
    const before = readFileSync(path, 'utf8')
    const times =
      typeof text === 'string'
        ? before.split(text).length - 1
        : [...before.matchAll(new RegExp(text, 'g'))].length
    if (times !== 1) throw new Error(`"${name}" cannot be sown: its text is ${times} times in ${file}`)
    writeFileSync(
      path,
      typeof text === 'string' ? before.replace(text, () => becomes) : before.replace(text, becomes),
    )
  }
}
