// The API requests, with the reason of each refusal, and the audit log with the changes.
import type { ComponentChild, ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { operationTable } from '../../../generated/client/operations.js'
import { Filters } from '../filters.tsx'
import { goFrom, isForConsole, Pages, PlaceNote } from '../list.tsx'
import type { ConsoleField } from '../model-types.ts'
import { listAt, model, parameterOf, pathOfId, prefixOf, requestOf } from '../model.ts'
import { learn, nameAs, nameOf } from '../names.ts'
import { fill, href, type PageProps } from '../router.ts'
import { call, currentUserId } from '../session.ts'
import { titleOf } from '../titles.ts'
import { Dialog, Problem, RowTable, Skeleton, useLoaded } from '../ui.tsx'
import { count, exactTime, Id, plainText, Time } from '../value.tsx'

/** `createApiKey` as `Create API key`. */
const wordsOf = (operation: string): string =>
  titleOf(operation.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))

const past: Record<string, string> = { get: 'read', leave: 'left', pay: 'paid', send: 'sent', show: 'opened' }
const unchanged = ['set', 'reset', 'read']
const doubled = ['submit', 'transfer', 'stop']

/** `createApiKey` as `Created API key`. Who is added to an organization may have to accept. */
function deedOf({ operation, resource_id: id }: any): string {
  if (operation === 'addMember' && prefixOf(id) === 'inv') return 'Invited member'
  if (operation === 'addOrganizationMember') return 'Added or invited organization member'
  const [verb, ...others] = wordsOf(operation).split(' ')
  const word = verb.toLowerCase()
  const ending = word.endsWith('e') ? 'd' : doubled.includes(word) ? `${word.at(-1)}ed` : 'ed'
  const regular = word.replace(/([^aeo])y$/, '$1i') + ending
  const deed = past[word] ?? (unchanged.includes(word) ? word : regular)
  return [deed[0].toUpperCase() + deed.slice(1), ...others].join(' ')
}

const ranges = { 'Last hour': 1, 'Last 24 hours': 24, 'Last 7 days': 168 }
const hourMs = 3_600_000

/** A choice of times. They begin with an hour or minute, so that the address has one of the choices. */
function timeField(chosen: string | null): ConsoleField {
  const values = Object.entries(ranges).map(([name, hours]) => {
    const unit = hours === 1 ? hourMs / 60 : hourMs
    const from = new Date(Math.floor((Date.now() - hours * hourMs) / unit) * unit).toISOString()
    nameAs(from, name)
    return from
  })
  if (chosen !== null && !values.includes(chosen)) {
    values.push(chosen)
    nameAs(chosen, `Since ${exactTime(chosen)}`)
  }
  return { name: 'created_after', title: 'Time', kind: 'choice', values, required: false, nullable: false }
}

/** The operations by their words. */
function operationField(field: ConsoleField, isShown: (method: string) => boolean): ConsoleField {
  const ids = Object.entries(operationTable).flatMap(([id, { method }]) => (isShown(method) ? [id] : []))
  for (const id of ids) nameAs(id, wordsOf(id))
  return { ...field, title: 'Action', kind: 'choice', values: ids.sort((a, b) => a.localeCompare(b)) }
}

interface LogProps extends PageProps {
  /** The names of the filters that are shown, in their order, and their titles. */
  filters: Record<string, string>
  /** The methods of the operations in the log. */
  methods: (method: string) => boolean
  columns: string[]
  /** The cells of a row. The first opens the row. */
  cells: (row: any, open: () => void) => ComponentChild[]
  title: (row: any) => string
  /** What the drawer shows of a row. */
  children: (row: any) => ComponentChildren
}

function Log({ path, query, filters, methods, columns, cells, title, children }: LogProps) {
  const { page: list } = listAt(path)!
  const [opened, setOpened] = useState<any>(null)
  const taken = [...query].filter(([name]) => !isForConsole(list, name))
  const loaded = useLoaded<any>(async () => {
    const { data } = await call(list.operation, { query: { order: 'desc', ...Object.fromEntries(taken) } })
    await learn(data.data)
    return data
  }, `${path}?${query}`)
  const go = goFrom(path, query)
  const fields = Object.entries(filters).map(([name, title]): ConsoleField => {
    if (name === 'created_after') return timeField(query.get(name))
    const field = { ...list.filters.find((each) => each.name === name)!, title }
    // A person is chosen by name, and more often than other references.
    if (name === 'user_id') return { ...field, kind: 'text' }
    return name === 'operation' ? operationField(field, methods) : field
  })
  const rows: any[] | undefined = loaded.value?.data
  return (
    <section>
      <header>
        <h1>{list.title}</h1>
      </header>
      <PlaceNote list={list} />
      <Filters filters={fields} query={query} go={go} />
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {rows === undefined && loaded.failure === null && <Skeleton rows={12} />}
      {rows?.length === 0 && <p class="empty">Nothing is recorded here. Remove a filter to see more.</p>}
      {rows !== undefined && rows.length > 0 && (
        <RowTable
          {...{ columns, rows }}
          label={list.title}
          kind="log-rows"
          cells={(row) => cells(row, () => setOpened(row))}
          isBusy={loaded.loading}
        />
      )}
      {loaded.value !== null && <Pages {...{ query, go }} next={loaded.value.pagination.next_cursor} />}
      {opened !== null && (
        <Dialog kind="drawer" title={title(opened)} onClose={() => setOpened(null)}>
          {children(opened)}
        </Dialog>
      )}
    </section>
  )
}

/** Facts of a row. Those that are null or false are left out. */
const Facts = ({ facts }: { facts: Record<string, ComponentChild> }) => (
  <dl>
    {Object.entries(facts).map(
      ([name, fact]) =>
        (fact ?? false) !== false && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </div>
        ),
    )}
  </dl>
)

const Credential = ({ id }: { id: string | null }) =>
  id === null ? null : id.startsWith('ses_') ? <>a sign-in</> : <Id value={id} />

const Status = ({ status, code }: { status: number; code: string | null }) => (
  <>
    <span class={`state ${status < 400 ? 'good' : 'bad'}`}>{status}</span>{' '}
    {code !== null && <small class="soft">{titleOf(code.toLowerCase())}</small>}
  </>
)

export function RequestsPage(props: PageProps) {
  return (
    <Log
      {...props}
      filters={{
        status_class: 'Status',
        operation: 'Action',
        created_after: 'Time',
        error_code: 'Error',
        credential_id: 'Key',
      }}
      methods={() => true}
      columns={['Action', 'Answer', 'Sent with', 'Took', 'When', 'Reason']}
      cells={(row, open) => [
        <button type="button" class="plain" onClick={open}>
          {wordsOf(row.operation)}
          {row.requests > 1 && <span class="soft"> × {count(row.requests)}</span>}
        </button>,
        <Status status={row.status} code={row.error_code} />,
        <Credential id={row.credential_id} />,
        `${count(row.duration_ms)} ms`,
        <Time value={row.created_at} />,
        row.error_code !== null && (
          <button type="button" aria-label={`Why was ${wordsOf(row.operation)} refused?`} onClick={open}>
            Why?
          </button>
        ),
      ]}
      title={({ operation }) => wordsOf(operation)}
    >
      {(row) => (
        <>
          {row.error_code !== null && <Why request={row} />}
          <Facts
            facts={{
              Answer: <Status status={row.status} code={row.error_code} />,
              'Sent with': <Credential id={row.credential_id} />,
              When: exactTime(row.created_at),
              Took: `${count(row.duration_ms)} ms`,
              'Request ID': <code>{row.request_id}</code>,
              'Your request ID': row.client_request_id,
            }}
          />
        </>
      )}
    </Log>
  )
}

interface Explained {
  checks: any[]
  /** The resource of the path, or its project; null if the logs do not have it. */
  resource: string | null
  /** The members who may give the role. */
  granters: any[]
}

/**
 * Asks which of its checks the request meets now. The request log has no path. For what was refused or may
 * change something, the audit log has the project and the last ID of the path. Without the first ID the
 * checks of the resource are left out.
 */
async function explain(request: any): Promise<Explained> {
  const { operation, credential_id: credential, request_id: requestId, created_at: at, method } = request
  const near = (ms: number): string => new Date(Date.parse(at) + ms).toISOString()
  const times = { created_after: near(-5000), created_before: near(5000) }
  const query = { operation, credential_id: credential, ...times, limit: 100 }
  const found = await call('listAuditEntries', { query }).catch(() => null)
  const entry = found?.data.data.find((each: any) => each.request_id === requestId)
  const { path: template } = requestOf(operation)
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const last = entry?.resource_id ?? null
  const owner = /^\/v1\/(project|organization)s\//.exec(template)?.[1]
  const first: string | null = names.length < 2 ? last : (entry?.[`${owner}_id`] ?? null)
  const ids = names.map((_, i) => (first === null ? '-' : i === 0 ? first : (last ?? '-')))
  const { data } = await call('explainAccess', {
    body: {
      method,
      path: fill(template, Object.fromEntries(names.map((name, i) => [name, ids[i]]))),
      credential_id: credential,
      ...(entry !== undefined && { ip: entry.ip }),
    },
  })
  const isRole = data.checks.some(({ name, passed }: any) => name === 'role' && !passed)
  return { checks: data.checks, resource: first, granters: [], ...(isRole && (await grantersAt(first!))) }
}

/** The owners and admins of a project or organization, or of the project of a resource. */
async function grantersAt(id: string): Promise<Pick<Explained, 'resource' | 'granters'>> {
  const detail = model.details.find(({ prefix }) => prefix === prefixOf(id))
  try {
    const path = { [parameterOf(detail!.path)]: id }
    const isOwner = /^(prj|org)_/.test(id)
    const resource: string = isOwner ? id : (await call(detail!.operation, { path })).data.project_id
    const operation = resource.startsWith('org_') ? 'listOrganizationMembers' : 'listMembers'
    const query = { role: ['owner', 'admin'] }
    return { resource, granters: (await call(operation, { path: { id: resource }, query })).data.data }
  } catch {
    // Who is no member may not know them.
    return { resource: id, granters: [] }
  }
}

/** What to do about each check: who can help, and where. */
const advice: Record<string, string> = {
  credential: 'Create another key, or sign in again.',
  address: 'The owner of the key can change the addresses that it may be used from.',
  scope: 'A key gets no further scopes: its owner can create another key that has this one.',
  session: 'Sign in with your account: no API key can do this.',
  project_ids: 'Use a key that is not limited to projects: its owner can create one.',
  resource: 'It was deleted, or it is not shared with you.',
  role: 'An owner or admin can give you this role.',
  status: 'Restore or unarchive it first.',
  rate_limit: 'Wait for the next minute, or send fewer requests.',
}

function Why({ request }: { request: any }) {
  const { error_code: code, credential_id: credential } = request
  const isKnown = request.operation in operationTable
  const loaded = useLoaded<Explained | null>(
    async () => (isKnown ? await explain(request) : null),
    request.id,
  )
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.loading) return <Skeleton rows={4} />
  const { checks = [], resource = null, granters = [] } = loaded.value ?? {}
  const failed = checks.find(({ passed }) => !passed)
  const about = <a href={`/docs/errors#${code}`}>About this error</a>
  return (
    <div class="why">
      {failed === undefined ? (
        <>
          <strong>Now you have all rights that this request needs.</strong>
          <p>
            {request.status === 403
              ? 'They were given since, or the refusal was about a resource that the log does not name.'
              : 'The refusal was not about rights.'}{' '}
            {about}
          </p>
        </>
      ) : (
        <>
          <strong>{failed.error.message}</strong>
          <p>
            {advice[failed.name]} {granters.length > 0 && 'They are: '}
            {granters.map(({ user, role }, i) => (
              <>
                {i > 0 && ', '}
                {user.name || user.email} ({role})
              </>
            ))}
          </p>
          <p class="actions">
            <Way check={failed.name} {...{ credential, resource }} />
            {about}
          </p>
        </>
      )}
      <ul aria-label="Checks">
        {checks
          .filter(({ requires }) => requires !== null)
          .map(({ name, passed, requires }) => (
            <li key={name} class={passed ? 'good' : 'bad'}>
              {passed ? '✓' : '✕'} {requires} <span class="hidden">{passed ? 'met' : 'missing'}</span>
            </li>
          ))}
      </ul>
    </div>
  )
}

interface WayProps {
  check: string
  credential: string
  resource: string | null
}

/** The page where the right is given. */
function Way({ check, credential, resource }: WayProps) {
  const to = (path: string | null, text: string, query = {}) =>
    path === null ? null : <a href={href(path, query)}>{text}</a>
  const place = resource === null ? null : pathOfId(resource)
  if (['credential', 'scope', 'project_ids'].includes(check))
    return to('/user/api-keys', 'Create a key', { new: '1' })
  if (check === 'address') return to(pathOfId(credential), 'Open the key')
  if (check === 'rate_limit') return to('/user/limits', 'Open your limits')
  if (check !== 'role' || place === null) return to(place, 'Open it')
  return to(listAt(`${place}/members`) === null ? place : `${place}/members`, 'Open the members')
}

const initialsOf = (name: string): string =>
  name
    .split(/[\s.@]+/)
    .slice(0, 2)
    .map((word) => word.slice(0, 1).toUpperCase())
    .join('')

function Person({ id }: { id: string | null }) {
  const name = id === null ? 'Nobody' : id === currentUserId() ? 'You' : nameOf(id)
  return (
    <span class="person">
      <span class="face" aria-hidden="true">
        {name === undefined ? '?' : initialsOf(name)}
      </span>
      {name ?? <Id value={id!} />}
    </span>
  )
}

const Outcome = ({ row }: { row: any }) => (
  <span class={`state ${row.outcome === 'done' ? 'good' : 'bad'}`}>{row.outcome}</span>
)

const On = ({ row }: { row: any }) => {
  const id = row.resource_id ?? row.project_id ?? row.organization_id
  return id === null ? <span class="soft">–</span> : <Id value={id} />
}

export function AuditPage(props: PageProps) {
  return (
    <Log
      {...props}
      filters={{
        user_id: 'Person',
        operation: 'Action',
        created_after: 'Time',
        outcome: 'Outcome',
        credential_id: 'Key',
        resource_id: 'Resource',
        ip: 'Address',
      }}
      methods={(method) => method !== 'GET'}
      columns={['Action', 'Who', 'On', 'Outcome', 'From', 'When']}
      cells={(row, open) => [
        <button type="button" class="plain" onClick={open}>
          {deedOf(row)}
        </button>,
        <Person id={row.user_id} />,
        <On row={row} />,
        <Outcome row={row} />,
        <span class="soft">{row.ip}</span>,
        <Time value={row.created_at} />,
      ]}
      title={deedOf}
    >
      {(row) => (
        <>
          <Facts
            facts={{
              Who: <Person id={row.user_id} />,
              On: <On row={row} />,
              Project: row.project_id !== row.resource_id && row.project_id && <Id value={row.project_id} />,
              Outcome: <Outcome row={row} />,
              When: exactTime(row.created_at),
              With: row.credential_id && <Credential id={row.credential_id} />,
              From: row.ip,
              'Request ID': <code>{row.request_id}</code>,
            }}
          />
          {row.outcome === 'done' && <Changed row={row} />}
        </>
      )}
    </Log>
  )
}

/** What a request changed, from its event among the latest of the kind of the resource. */
function Changed({ row }: { row: any }) {
  const { resource_id: id, request_id: requestId } = row
  const type = model.details.find(({ prefix }) => prefix !== null && prefix === prefixOf(id))?.events
  const loaded = useLoaded<any>(async () => {
    if (type == null) return null
    const { data } = await call('listEvents', { query: { type, order: 'desc', limit: 100 } })
    return data.data.find((event: any) => event.request_id === requestId)
  }, row.id)
  if (loaded.loading) return <Skeleton rows={3} />
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  const event = loaded.value
  if (event == null) return <p class="soft">The latest events have no change by this request.</p>
  const { object, previous_attributes: previous } = event.data
  const changes = Object.entries(previous).filter(([name]) => !['version', 'updated_at'].includes(name))
  return (
    <>
      {changes.length > 0 && <h3>What changed</h3>}
      <Facts
        facts={Object.fromEntries(
          changes.map(([name, before]) => [
            titleOf(name),
            <>
              <del>{plainText(before)}</del> → <ins>{plainText(object[name])}</ins>
            </>,
          ]),
        )}
      />
      <a href={href(`/events/${event.id}`)}>{event.type}</a>
    </>
  )
}
