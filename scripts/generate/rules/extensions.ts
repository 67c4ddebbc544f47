// Rules for this project's `x-` extensions: their places and values. A misspelled extension would have no
// effect.
import type { Context } from './visit.ts'

type Check = (value: any) => string | null

const oneOf =
  (...values: string[]): Check =>
  (value) =>
    values.includes(value) ? null : `one of ${values.join(', ')}`
const text: Check = (value) => (typeof value === 'string' && value.trim() !== '' ? null : 'text')
const yes: Check = (value) => (value === true ? null : '`true` or absent')
const list: Check = (value) => (Array.isArray(value) ? null : 'a list')
const anything: Check = () => null
const isGroupHint = ({ icon, place, ...others }: any): boolean =>
  (icon === undefined || text(icon) === null) &&
  (place === undefined || oneOf('account', 'operator')(place) === null) &&
  Object.keys(others).length === 0
const groups: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (group) =>
      text(group?.name) === null && Array.isArray(group.tags) && isGroupHint(group['x-console'] ?? {}),
  )
    ? null
    : 'a list of groups, each with a `name`, its `tags`, and an `x-console` with an `icon` or a `place`, ' +
      'which is account or operator'

const isListOfTexts = (value: any): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((each) => text(each) === null)
const consoleHints: Check = (value) => {
  const { title, columns, words, when, ...others } = Object(value)
  const isRight =
    (title === undefined || text(title) === null) &&
    [columns, words].every((each) => each === undefined || isListOfTexts(each)) &&
    Object.values(when ?? {}).every((values) => Array.isArray(values) && values.length > 0) &&
    Object.keys(others).length === 0
  return isRight
    ? null
    : 'an object with a `title`, lists of `columns` or `words`, or `when`, a list of values by field'
}

/** The extensions by Redocly's name of the node type. */
const extensions: Record<string, Record<string, Check>> = {
  Root: {
    'x-scopes': anything,
    'x-included-scopes': anything,
    'x-rate-limits': (value) =>
      Object.values(value ?? {}).every((limit) => Number.isInteger(limit) && Number(limit) > 0)
        ? null
        : 'a positive integer for each policy, the requests per minute',
    'x-implied-parameters': anything,
    'x-implied-responses': anything,
    'x-implied-headers': anything,
    'x-implied-security': anything,
    'x-events': anything,
    'x-error-codes': anything,
    'x-tagGroups': groups,
  },
  Tag: { 'x-displayName': text },
  Operation: {
    'x-rate-limit': anything,
    'x-idempotency': oneOf('handler', 'none'),
    'x-project-access': (value) => (typeof value?.role === 'string' ? null : 'an object with the `role`'),
    'x-organization-access': (value) =>
      typeof value?.role === 'string' ? null : 'an object with the `role`',
    'x-organization-sellers': yes,
    'x-needs-session': yes,
    'x-limited-session': yes,
    'x-secret-answer': yes,
    'x-static': yes,
    'x-read-replica': yes,
    'x-unlimited-key': (value) => (typeof value === 'boolean' ? null : '`true` or `false`'),
    'x-files-origin': yes,
    'x-html-errors': yes,
    'x-open-query': yes,
    'x-replaces': yes,
    'x-entity': text,
    'x-client-method': (value) =>
      value === false || text(value) === null ? null : 'a name such as `projects.archive`, or `false`',
    'x-console': consoleHints,
    'x-deprecated-at': anything,
    'x-sunset': anything,
    'x-successor': anything,
  },
  RequestBody: { 'x-raw': yes, 'x-batch': yes },
  MediaType: {
    'x-stream-events': anything,
    'x-stream-ends': anything,
    'x-stream-end': anything,
    'x-stream-answer': anything,
  },
  Schema: {
    'x-ignored': yes,
    'x-event-types': list,
    'x-error-code': anything,
    'x-in-events': (value) => (value === false ? null : '`false` or absent'),
    'x-pattern-says': anything,
    'x-lowercase': yes,
    'x-writable': oneOf('create', 'update'),
    'x-volatile': yes,
    'x-user-of': text,
    'x-model': anything,
    'x-column': text,
    'x-computed': text,
    'x-differs': text,
    'x-when-omitted': text,
  },
  PathItem: {
    'x-crud': (value) =>
      ['schema', 'prefix', 'tag'].every((key) => text(value?.[key]) === null) &&
      (value.parent === 'platform' ? ['scopes'] : ['scopes', 'roles']).every(
        (key) => text(value[key]?.read) === null && text(value[key].write) === null,
      ) &&
      ['parent', 'parameter'].every((key) => value[key] === undefined || text(value[key]) === null) &&
      ['sort', 'filters', 'parameters', 'without'].every(
        (key) => value[key] === undefined || list(value[key]) === null,
      )
        ? null
        : 'an object with `schema`, `prefix`, `tag`, and `read` and `write` of `scopes` and of `roles`; ' +
          '`parent` is `organization`, `platform` or the name of a schema, `parameter` is a name, and ' +
          '`sort`, `filters`, `parameters` and `without` are lists',
  },
  Parameter: {},
  Response: {},
  Header: {},
}

export const extensionRules = {
  'known-extension': () =>
    Object.fromEntries(
      Object.entries(extensions).map(([place, known]) => [
        place,
        {
          enter(node: any, ctx: Context) {
            for (const [name, value] of Object.entries(node)) {
              if (!name.startsWith('x-') || name.startsWith('x-internal-')) continue
              if (!Object.hasOwn(known, name))
                ctx.report({ message: unknown(name, place), location: ctx.location.child(name).key() })
              else {
                const wanted = known[name](value)
                if (wanted !== null)
                  ctx.report({ message: `\`${name}\` must be ${wanted}`, location: ctx.location.child(name) })
              }
            }
          },
        },
      ]),
    ),
}

function unknown(name: string, place: string): string {
  const elsewhere = Object.keys(extensions).find((other) => Object.hasOwn(extensions[other], name))
  if (elsewhere !== undefined) return `\`${name}\` belongs in a ${elsewhere} and has no effect in a ${place}`
  const here = Object.keys(extensions[place])
  const known = here.length === 0 ? '' : `; known here: ${here.join(', ')}`
  return `unknown extension \`${name}\`${known}. Start private notes with x-internal-`
}
