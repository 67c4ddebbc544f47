// Notes with attachments, in a server that uses nothing but Node.js, with switches for seeded defects.
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'

/** By what they are about: the operations and the checks that find them. */
export const notesDefectGroups = {
  'responses and errors': {
    'a creation answers 200': { operations: ['createNote'], checks: ['undeclared-status'] },
    'a deletion answers 202': { operations: ['deleteNote'], checks: ['undeclared-status'] },
    'a required property is missing': { operations: ['getNote', 'createNote'], checks: ['body'] },
    'a number is sent as text': { operations: ['getNote', 'createNote'], checks: ['body'] },
    'an enum has another value': { operations: ['getNote', 'createNote'], checks: ['body'] },
    'a time has another format': { operations: ['getNote', 'createNote'], checks: ['body'] },
    'a list has null in place of a list': { operations: ['listNotes'], checks: ['body'] },
    'the Location is missing': { operations: ['createNote'], checks: ['header'] },
    'the ETag is missing': { operations: ['getNote'], checks: ['header'] },
    'the Content-Disposition is missing': { operations: ['getAttachment'], checks: ['header'] },
    'JSON is sent as text/html': { operations: ['listNotes'], checks: ['media-type'] },
    'an attachment has another media type': { operations: ['getAttachment'], checks: ['put-read'] },
    'an error has another shape': { operations: ['getNote', 'createNote', 'updateNote'], checks: ['body'] },
    'a missing key is answered with 403': { operations: ['getNote', 'listNotes'], checks: ['no-key'] },
  },
  'server errors': {
    'an unusual text is a server error': { operations: ['createNote'], checks: ['server-error'] },
    'broken JSON is a server error': { operations: ['createNote'], checks: ['server-error'] },
    'an empty file is a server error': { operations: ['putAttachment'], checks: ['server-error'] },
  },
  'invalid requests': {
    'an unknown property is accepted': { operations: ['createNote', 'updateNote'], checks: ['accepted'] },
    'a long title is accepted': { operations: ['createNote', 'updateNote'], checks: ['accepted'] },
    'an unknown color is accepted': {
      operations: ['createNote', 'updateNote'],
      checks: ['accepted', 'body'],
    },
    'a number is accepted as a title': { operations: ['createNote', 'updateNote'], checks: ['accepted'] },
    'a limit above the maximum is accepted': { operations: ['listNotes'], checks: ['accepted'] },
    'an empty change is accepted': { operations: ['updateNote'], checks: ['accepted'] },
  },
  'keys and users': {
    'a read needs no key': { operations: ['getNote'], checks: ['no-key'] },
    'every key is accepted': { operations: ['getNote', 'listNotes'], checks: ['unknown-key'] },
    "another user's note can be read": { operations: ['getNote'], checks: ['tenant-isolation'] },
    "another user's note can be changed": { operations: ['updateNote'], checks: ['tenant-isolation'] },
    "another user's note can be deleted": { operations: ['deleteNote'], checks: ['tenant-isolation'] },
    "another user's notes are listed": { operations: ['listNotes'], checks: ['tenant-isolation'] },
  },
  'creation, change and deletion': {
    'a creation trims the title': { operations: ['createNote'], checks: ['create-value'] },
    'a creation has another default': { operations: ['createNote'], checks: ['default'] },
    'a creation loses the tags': { operations: ['createNote'], checks: ['create-value'] },
    'a created note is not stored': { operations: ['getNote'], checks: ['read'] },
    'a change is not stored': { operations: ['updateNote'], checks: ['update-read'] },
    'a change is ignored': { operations: ['updateNote'], checks: ['update-value', 'update-read'] },
    'a change resets the tags': { operations: ['updateNote'], checks: ['update-others'] },
    'a deletion deletes nothing': { operations: ['deleteNote'], checks: ['deleted-read'] },
    'a deleted note is listed': { operations: ['listNotes'], checks: ['deleted-list-membership'] },
    'an attachment is truncated': { operations: ['getAttachment'], checks: ['put-read'] },
    'a deleted attachment can be read': { operations: ['deleteAttachment'], checks: ['deleted-read'] },
  },
  lists: {
    'the total is wrong': { operations: ['listNotes'], checks: ['total'] },
    'a limit is ignored': { operations: ['listNotes'], checks: ['page-length'] },
    'the second page repeats an item': { operations: ['listNotes'], checks: ['page-duplicate', 'pages'] },
    'a filter is ignored': { operations: ['listNotes'], checks: ['filter'] },
    'a new note is in no list': { operations: ['listNotes'], checks: ['list-membership'] },
  },
  streams: {
    'a line is another object': { operations: ['exportNotes'], checks: ['body'] },
    'an event is another object': { operations: ['watchNotes'], checks: ['body'] },
  },
  'conditional requests': {
    'a 304 is never sent': { operations: ['getNote'], checks: ['not-modified'] },
    'an ETag never changes': { operations: ['getNote'], checks: ['etag'] },
    'If-Match is ignored': { operations: ['updateNote'], checks: ['if-match'] },
    'the current If-Match is refused': { operations: ['updateNote'], checks: ['if-match'] },
  },
} satisfies Record<string, Record<string, { operations: string[]; checks: string[] }>>

type Groups = typeof notesDefectGroups
export type NotesDefect = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups]

export const notesDefects: Record<string, { operations: string[]; checks: string[] }> = Object.assign(
  {},
  ...Object.values(notesDefectGroups),
)

export const notesKeys = ['notes-key-of-anna-01', 'notes-key-of-berta-02'] as const

interface Note {
  id: string
  owner: string
  title: string
  color: string
  tags: string[]
  version: number
  created_at: string
  file?: { type: string; bytes: Buffer }
}

/** Returns a server that does not listen yet. */
export function createNotes(defect: NotesDefect | null = null): Server {
  const has = (name: NotesDefect): boolean => defect === name
  const notes = new Map<string, Note>()
  const deleted: Note[] = []

  const isText = (value: unknown, longest: number): boolean =>
    typeof value === 'string' && value !== '' && [...value].length <= longest && value.isWellFormed()

  /** Whether the body meets the schema of the contract. */
  function isValid(body: any, isCreation: boolean): boolean {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return false
    const { title, color, tags, ...others } = body
    const isTitle =
      isText(title, has('a long title is accepted') ? Infinity : 100) ||
      (typeof title === 'number' && has('a number is accepted as a title'))
    const isColor = ['red', 'blue'].includes(color) || has('an unknown color is accepted')
    const isEmpty = Object.keys(body).length === 0
    return (
      (Object.keys(others).length === 0 || has('an unknown property is accepted')) &&
      (isTitle || (title === undefined && !isCreation)) &&
      (color === undefined || isColor) &&
      (tags === undefined ||
        (Array.isArray(tags) && tags.length <= 5 && tags.every((each) => isText(each, 20)))) &&
      (!isEmpty || isCreation || has('an empty change is accepted'))
    )
  }

  const shown = ({ id, title, color, tags, version, created_at }: Note): Record<string, unknown> => ({
    id,
    title: String(title),
    color: has('an enum has another value') ? 'green' : color,
    ...(!has('a required property is missing') && { tags }),
    version: has('a number is sent as text') ? String(version) : version,
    created_at: has('a time has another format') ? created_at.slice(0, 19) : created_at,
  })

  return createServer(async (request, response) => {
    const bytes = Buffer.concat(await Array.fromAsync(request))
    const end = (status: number, body?: unknown, headers: Record<string, string> = {}): void => {
      const type = has('JSON is sent as text/html') && status === 200 ? 'text/html' : 'application/json'
      response.writeHead(status, { ...(body !== undefined && { 'content-type': type }), ...headers })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    }
    const fail = (status: number, code: string): void =>
      end(status, has('an error has another shape') ? { error: code } : { code })
    const show = (status: number, note: Note, headers: Record<string, string> = {}): void => {
      const version = has('an ETag never changes') ? 1 : note.version
      const isTagged = status !== 200 || request.method !== 'GET' || !has('the ETag is missing')
      end(status, shown(note), { ...(isTagged && { etag: `"${version}"` }), ...headers })
    }
    const { pathname, searchParams } = new URL(request.url!, 'http://notes')
    const [, own, sub] = pathname.split('/').slice(1)
    const method = request.method!
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const isOpen = has('a read needs no key') && method === 'GET' && own !== undefined
    const isKnown = notesKeys.some((each) => each === key) || (key !== '' && has('every key is accepted'))
    if (!isKnown && !isOpen)
      return fail(key === '' && has('a missing key is answered with 403') ? 403 : 401, 'no_key')

    let body: any
    if (request.headers['content-type'] === 'application/json')
      try {
        body = JSON.parse(bytes.toString())
      } catch {
        return has('broken JSON is a server error') ? fail(500, 'error') : fail(400, 'json')
      }
    if (pathname === '/export' && method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/jsonl' })
      for (const each of ownNotes())
        response.write(
          `${JSON.stringify(has('a line is another object') ? { note: each.id } : shown(each))}\n`,
        )
      return void response.end()
    }
    if (pathname === '/changes' && method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': hello\n\n')
      for (const each of ownNotes()) {
        const data = has('an event is another object') ? { note: each.id } : shown(each)
        response.write(`event: note\nid: ${each.id}\ndata: ${JSON.stringify(data)}\n\n`)
      }
      return void response.end('event: note\ndata: {"cut')
    }
    if (own === undefined && method === 'GET') return list(searchParams, key)
    if (own === undefined && method === 'POST') return create(body, key)
    const note = notes.get(own)
    const mayBeOthers =
      (has("another user's note can be read") && method === 'GET') ||
      (has("another user's note can be changed") && method === 'PATCH') ||
      (has("another user's note can be deleted") && method === 'DELETE') ||
      (has('every key is accepted') && method === 'GET') ||
      isOpen
    if (note === undefined || (note.owner !== key && !mayBeOthers)) return fail(404, 'not_found')
    if (sub === undefined && method === 'GET') {
      const isSame = request.headers['if-none-match'] === `"${note.version}"`
      return isSame && !has('a 304 is never sent')
        ? end(304, undefined, { etag: `"${note.version}"` })
        : show(200, note)
    }
    if (sub === undefined && method === 'DELETE') {
      if (!has('a deletion deletes nothing')) notes.delete(own)
      deleted.push(note)
      return end(has('a deletion answers 202') ? 202 : 204)
    }
    if (sub === undefined && method === 'PATCH') return change(note, body, request.headers['if-match'])
    if (sub !== 'attachment') return fail(404, 'not_found')
    if (method === 'PUT') return attach(note, request.headers['content-type'] ?? '')
    if (note.file === undefined) return fail(404, 'not_found')
    if (method === 'DELETE') {
      if (!has('a deleted attachment can be read')) delete note.file
      return end(204)
    }
    if (method !== 'GET') return fail(405, 'method')
    response.writeHead(200, {
      'content-type': has('an attachment has another media type') ? 'text/plain' : note.file.type,
      ...(!has('the Content-Disposition is missing') && { 'content-disposition': 'attachment' }),
    })
    response.end(note.file.bytes)

    function ownNotes(): Note[] {
      return [...notes.values()].filter(({ owner }) => owner === key)
    }

    function list(query: URLSearchParams, owner: string): void {
      const numberOf = (name: string, least: number, most: number, usual: number): number => {
        const text = query.get(name)
        if (text === null) return usual
        return /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : NaN
      }
      const limit = numberOf('limit', 1, has('a limit above the maximum is accepted') ? Infinity : 50, 20)
      const offset = numberOf('offset', 0, 100_000, 0)
      const color = query.get('color')
      if (Number.isNaN(limit + offset) || (color !== null && !['red', 'blue'].includes(color)))
        return fail(400, 'query')
      const all = [...notes.values(), ...(has('a deleted note is listed') ? deleted : [])].filter(
        (note) =>
          (note.owner === owner || has("another user's notes are listed")) &&
          (color === null || note.color === color || has('a filter is ignored')),
      )
      const listed = has('a new note is in no list') ? all.filter(({ version }) => version > 1) : all
      const first = offset - (has('the second page repeats an item') && offset > 0 ? 1 : 0)
      const page = listed.slice(first, has('a limit is ignored') ? undefined : first + limit)
      end(200, {
        notes: has('a list has null in place of a list') && page.length === 0 ? null : page.map(shown),
        total: listed.length + (has('the total is wrong') ? 1 : 0),
      })
    }

    function create(given: any, owner: string): void {
      if (!isValid(given, true)) return fail(400, 'body')
      if (has('an unusual text is a server error') && /\p{Extended_Pictographic}|\u202e/u.test(given.title))
        return fail(500, 'error')
      const note: Note = {
        id: randomUUID(),
        owner,
        title: has('a creation trims the title') ? given.title.trim() || '-' : given.title,
        color: given.color ?? (has('a creation has another default') ? 'blue' : 'red'),
        tags: has('a creation loses the tags') ? [] : (given.tags ?? []),
        version: 1,
        created_at: new Date().toISOString(),
      }
      if (!has('a created note is not stored')) notes.set(note.id, note)
      show(
        has('a creation answers 200') ? 200 : 201,
        note,
        has('the Location is missing') ? {} : { location: `/notes/${note.id}` },
      )
    }

    function change(note: Note, given: any, wanted: string | undefined): void {
      if (!isValid(given, false)) return fail(400, 'body')
      const isCurrent = wanted === `"${note.version}"` && !has('the current If-Match is refused')
      if (wanted !== undefined && !isCurrent && !has('If-Match is ignored')) return fail(412, 'changed')
      const {
        title = note.title,
        color = note.color,
        tags = note.tags,
      } = has('a change is ignored') ? {} : given
      const kept = has('a change resets the tags') ? (given.tags ?? []) : tags
      const changed = { ...note, title, color, tags: kept, version: note.version + 1 }
      if (!has('a change is not stored')) notes.set(note.id, changed)
      show(200, changed)
    }

    function attach(note: Note, type: string): void {
      if (type !== 'image/png' && type !== 'text/plain') return fail(415, 'media_type')
      if (bytes.length === 0 && has('an empty file is a server error')) return fail(500, 'error')
      note.file = { type, bytes: has('an attachment is truncated') ? bytes.subarray(0, 10) : bytes }
      end(204)
    }
  })
}
