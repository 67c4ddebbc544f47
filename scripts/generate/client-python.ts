// Writes the Python package generated/client-python: the runtime of packages/client-python, a table of the
// operations, the types of the contract, and the declarations of the methods of both clients.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rowOf } from '@platform-api/generate/client-table.ts'
import { operationsOf, type Operation as Described } from '@platform-api/openapi/document.ts'
import type { OperationRow } from '../../packages/client/operation-row.ts'
import { clientNames } from './client-names.ts'
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'
import { docstring, pythonLiteral, pythonName, PythonTypes, snakeCase } from './python-types.ts'
import { banner } from './types.ts'

type Json = any

const source = join(import.meta.dirname, '../../packages/client-python')
const note = banner.replace(/^\/\/ ?/gm, '# ')
/** Where the files of the package are in generated/. */
const folder = 'client-python'
const modules = `${folder}/platform_api`

/** A method of the client. */
interface Method {
  id: string
  name: string
  row: OperationRow
  described: Described
  /** The operation in the published document, whose schemas have names. */
  published: Json
}

/**
 * @param document the document of `operations`.
 * @param published the same document as users read it.
 * @returns the text of each file, by its name in generated/.
 */
export function emitPythonClient(
  document: Json,
  operations: Operation[],
  { published, project }: { published: Json; project: Json },
): Map<string, string> {
  const { version } = document.info
  const methods = methodsOf(document, operations, published)
  const types = new PythonTypes(published)
  const stubs = new Stubs(methods, types)
  const [sync, async] = [stubs.text(false), stubs.text(true)]
  const runtime = readdirSync(join(source, 'platform_api')).filter((file) => /\.(py|typed)$/.test(file))
  return new Map([
    ...runtime.map((file): [string, string] => [`${modules}/${file}`, read(`platform_api/${file}`)]),
    [`${folder}/README.md`, read('README.md')],
    [`${folder}/LICENSE`, read('LICENSE')],
    [`${folder}/pyproject.toml`, read('pyproject.toml').replace('{version}', version)],
    [`${modules}/_operations.py`, table(methods, `${project.name}-client-python/${version}`)],
    [`${modules}/types.py`, note + types.text()],
    [`${modules}/client.pyi`, note + sync],
    [`${modules}/aio.pyi`, note + async],
  ])
}

const read = (name: string): string => readFileSync(join(source, name), 'utf8')

function methodsOf(document: Json, operations: Operation[], published: Json): Method[] {
  const names = clientNames(document, operations)
  const nodes = new Map<string, Json>(
    Object.values<Json>(published.paths).flatMap((item) =>
      Object.values<Json>(item)
        .filter((node) => typeof node?.operationId === 'string')
        .map((node): [string, Json] => [node.operationId, { ...node, shared: item.parameters }]),
    ),
  )
  return operationsOf(document).flatMap((described) => {
    const { id } = described
    const name = names.get(id)
    if (name === undefined) return []
    const row = rowOf(document, described, name)
    const parts = name.split('.').map((part) => pythonName(snakeCase(part)))
    return [{ id, name: parts.join('.'), row, described, published: nodes.get(id)! }]
  })
}

/** The module that the runtime reads. */
function table(methods: Method[], userAgent: string): string {
  const lists = [...new Set(methods.flatMap(({ row }) => listOf(row)))]
  const rows = methods.map((method) => {
    const row = { ...pythonRow(method), list: undefined }
    const [list] = listOf(method.row)
    const rest = list === undefined ? '' : `, "list": PAGES_${lists.indexOf(list) + 1}`
    return `    "${method.name}": ${pythonLiteral(row).slice(0, -1)}${rest}},`
  })
  return `${note}"""What the client needs for each operation."""

from __future__ import annotations

from typing import Any

USER_AGENT = ${JSON.stringify(userAgent)}

${lists.map((list, i) => `PAGES_${i + 1} = ${list}`).join('\n')}

OPERATIONS: dict[str, dict[str, Any]] = {
${rows.join('\n')}
}

#: The names by operationId.
BY_ID = {row["id"]: name for name, row in OPERATIONS.items()}
`
}

/** The pages of a list that is read by a cursor; other lists are plain results. */
function listOf({ list }: OperationRow): string[] {
  if (list?.next.by !== 'cursor' || list.items === null) return []
  const { parameter, from, more } = list.next
  return [pythonLiteral({ items: list.items, parameter, from, more, page: list.page })]
}

function pythonRow({ id, row, described }: Method): object {
  const headers = headersOf(described)
  const deep = row.parameters?.filter(({ style }) => style === 'deepObject').map((each) => each.name)
  const media = row.media?.map(({ type }) => type) ?? ['application/json']
  return {
    id,
    method: row.method,
    path: row.prefix + row.path,
    headers: headers.length > 0 ? headers : undefined,
    deep,
    body: row.body ? media : undefined,
    optional: row.body && described.body?.required === false ? true : undefined,
    answer: row.answer === 'json' || row.answer === null ? undefined : row.answer,
    accept: row.accept,
    ends: row.ends,
    resumes: row.resumes,
    answers: row.answers,
    public: row.security?.length === 0 ? true : undefined,
  }
}

function headersOf({ parameters }: Described): string[] {
  return parameters.filter((each) => each.in === 'header').map(({ name }) => name)
}

const headerName = (header: string): string => header.toLowerCase().replaceAll('-', '_')

/** The type declarations of the methods. */
class Stubs {
  readonly #methods: Method[]
  readonly #types: PythonTypes

  constructor(methods: Method[], types: PythonTypes) {
    this.#methods = methods
    this.#types = types
  }

  text(isAsync: boolean): string {
    const prefix = isAsync ? 'Async' : ''
    const root = group(this.#methods)
    const classes = [...root].flatMap(([name, node]) =>
      node instanceof Map ? this.#class(node, [name], isAsync) : [],
    )
    const members = [...root].flatMap(([name, node]) =>
      node instanceof Map ? [`    ${name}: ${className([name])}`] : this.#method(name, node, isAsync),
    )
    const http = isAsync ? 'httpx.AsyncClient' : 'httpx.Client'
    const enter = isAsync ? 'async def __aenter__' : 'def __enter__'
    const exit = isAsync ? 'async def __aexit__' : 'def __exit__'
    const def = isAsync ? 'async def' : 'def'
    const own = ['AnswerStream', 'Download', 'EventStream', 'Page']
    const results = own.map((each) => prefix + each).join(', ')
    return `from typing import (
    Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union, Unpack, overload
)

import httpx

from . import types as t
from ._files import FileInput
from ._results import ${results}

${classes.join('\n\n')}

class ${prefix}Client:
    """One method per operation, by resource."""

    def __init__(
        self,
        base_url: Optional[str] = ...,
        api_key: Optional[str] = ...,
        *,
        timeout: float = ...,
        retries: int = ...,
        headers: Optional[dict[str, str]] = ...,
        http_client: Optional[${http}] = ...,
    ) -> None: ...
    def with_options(
        self, *, timeout: float = ..., retries: int = ..., headers: dict[str, str] = ...
    ) -> ${prefix}Client:
        """A client with other options and the same connections."""
    ${def} request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[dict[str, Any]] = ...,
        json: Optional[dict[str, Any]] = ...,
        headers: Optional[dict[str, str]] = ...,
    ) -> httpx.Response:
        """Sends any request, such as \`\`client.request("GET", "/v1/projects")\`\`."""
    ${def} close(self) -> None:
        """Closes the connections."""
    ${enter}(self) -> ${prefix}Client: ...
    ${exit}(self, *_: object) -> None: ...
${members.join('\n')}
`
  }

  #class(tree: Tree, path: string[], isAsync: boolean): string[] {
    const children = [...tree].filter(([, node]) => node instanceof Map) as Array<[string, Tree]>
    const methods = [...tree].flatMap(([name, node]) => (node instanceof Map ? [] : [[name, node] as const]))
    const lines = [
      ...methods.flatMap(([name, method]) => this.#method(name, method, isAsync)),
      ...this.#extra(path.join('.'), isAsync),
      ...children.map(([name]) => `    ${name}: ${className([...path, name])}`),
    ]
    return [
      ...children.flatMap(([name, node]) => this.#class(node, [...path, name], isAsync)),
      `class ${className(path)}:\n${lines.join('\n')}`,
    ]
  }

  #method(name: string, method: Method, isAsync: boolean): string[] {
    const { row, described, published, id } = method
    const query = described.parameters.filter((each) => each.in === 'query')
    const path = described.parameters.filter((each) => each.in === 'path')
    const headers = described.parameters.filter((each) => each.in === 'header')
    const kind = capital(id)
    const isBytes = row.media?.[0].type.endsWith('octet-stream')
    const positional = [
      'self',
      ...path.map((each) => `${pythonName(each.name)}: str`),
      ...(isBytes ? [`content: FileInput${described.body?.required ? '' : ' = ...'}`] : []),
      '/',
    ]
    const named = headers.map(
      (each) => `${headerName(each.name)}: ${scalar(each.schema)}${each.required ? '' : ' = ...'}`,
    )
    const fields =
      row.body && !isBytes ? this.#bodies(method) : query.length > 0 ? [this.#query(method, kind)] : [null]
    const result = this.#result(method, kind, isAsync)
    const def = isAsync && result.awaited ? 'async def' : 'def'
    const { summary } = published
    const about = `${String(summary).replace(/\s+/g, ' ')}: \`\`${row.method} ${row.prefix}${row.path}\`\``
    return fields.flatMap((each) => {
      const rest = [...named, ...(each === null ? [] : [`**fields: ${each}`])]
      const star = named.length > 0 ? ['*'] : []
      const list = [...positional, ...star, ...rest].join(', ')
      return [
        ...(fields.length > 1 ? ['    @overload'] : []),
        `    ${def} ${name}(${list}) -> ${result.type}:`,
        ...docstring(about, '        '),
      ]
    })
  }

  /** The types of the body's fields; several if the body is one of several objects. */
  #bodies({ id, row, published, described }: Method): string[] {
    const body = this.#types.resolved(published.requestBody)
    const types = Object.values<Json>(body.content).map(({ schema }) =>
      this.#types.objectsOf(schema, `${capital(id)}Body`),
    )
    const known = types.some((each) => each === null) ? null : [...new Set(types.flatMap((each) => each!))]
    for (const header of headersOf(described))
      for (const media of Object.values<Json>(body.content))
        if (headerName(header) in (this.#types.resolved(media.schema).properties ?? {}))
          throw new GenerateError(`The Python client cannot call ${id} (${row.path}): a field is a header.`)
    return known === null ? ['Any'] : known.map((name) => `Unpack[t.${name}]`)
  }

  #query({ published }: Method, kind: string): string {
    const all = [...(published.shared ?? []), ...(published.parameters ?? [])].map((each: Json) =>
      this.#types.resolved(each),
    )
    const own = all.filter((each) => each.in === 'query')
    return `Unpack[t.${this.#types.parameters(`${kind}Query`, own)}]`
  }

  #result(method: Method, kind: string, isAsync: boolean): { type: string; awaited: boolean } {
    const { row, published } = method
    const prefix = isAsync ? 'Async' : ''
    if (row.answer === 'bytes') return { type: `${prefix}Download`, awaited: true }
    if (row.answer === null) return { type: 'None', awaited: true }
    if (row.answer === 'text') return { type: 'str', awaited: true }
    const media = this.#success(published, row.answer === 'events')
    if (row.answer === 'events') {
      const events: Json = media?.['x-stream-events'] ?? {}
      const types = Object.entries<Json>(events).map(([name, node]) =>
        local(this.#types.of(node, `${kind}${capital(name.replace(/\W/g, ''))}`)),
      )
      const event = types.length === 0 ? 'Any' : types.length === 1 ? types[0] : `Union[${types.join(', ')}]`
      if (row.answers === undefined) return { type: `${prefix}EventStream[${event}]`, awaited: false }
      const final = local(this.#types.of(events[row.answers.final] ?? {}, `${kind}Final`))
      return { type: `${prefix}AnswerStream[${event}, ${final}]`, awaited: false }
    }
    const type = local(this.#types.of(media?.schema ?? {}, `${kind}Result`))
    const [list] = listOf(row)
    if (list === undefined) return { type, awaited: true }
    const body = this.#types.resolved(media.schema)
    const items = this.#types.resolved(body.properties?.[row.list!.items!] ?? {})
    const item = local(this.#types.of(items.items ?? {}, `${kind}Item`))
    return { type: `${prefix}Page[${item}, ${type}]`, awaited: false }
  }

  /** The content of the first success of the kind. */
  #success({ responses }: Json, isStream: boolean): Json {
    for (const [status, node] of Object.entries<Json>(responses)) {
      const content = this.#types.resolved(node).content
      const types = Object.keys(content ?? {}).filter((each) => each.includes('event-stream') === isStream)
      if (/^[12]/.test(status) && types.length > 0) return content[types[0]]
    }
    return undefined
  }

  /** The methods that are not operations. */
  #extra(path: string, isAsync: boolean): string[] {
    const has = (id: string): boolean => this.#methods.some((method) => method.id === id)
    if (path === 'storage.files' && has('createUpload') && has('getUpload') && has('appendUpload'))
      return [
        `    ${isAsync ? 'async ' : ''}def resumable_upload(`,
        '        self,',
        '        content: FileInput,',
        '        /,',
        '        *,',
        '        upload_id: Optional[str] = ...,',
        '        on_created: Callable[[str], None] = ...,',
        '        on_progress: Callable[[int, int], None] = ...,',
        '        piece_size: Optional[int] = ...,',
        '        retries: int = ...,',
        '        **fields: Any,',
        '    ) -> t.Upload:',
        '        """Uploads by tus; resumes after network errors, and in a later run with `upload_id`."""',
      ]
    if (path === 'webhooks')
      return [
        '    @staticmethod',
        '    def verify(',
        '        payload: Union[bytes, str],',
        '        headers: Mapping[str, str],',
        '        secret: Union[str, Sequence[str], None] = ...,',
        '        *,',
        '        tolerance: float = ...,',
        '        now: Optional[float] = ...,',
        '    ) -> t.PlatformEvent:',
        '        """Checks the signature and the age of a webhook, and returns its event."""',
      ]
    return []
  }
}

/** The methods by the parts of their names; a group may also be a method, named `__call__`. */
type Tree = Map<string, Tree | Method>

function group(methods: Method[]): Tree {
  const root: Tree = new Map()
  const names = methods.map(({ name }) => name)
  for (const method of methods) {
    const isGroup = names.some((name) => name.startsWith(`${method.name}.`))
    const parts = isGroup ? [...method.name.split('.'), '__call__'] : method.name.split('.')
    let tree = root
    for (const part of parts.slice(0, -1)) {
      const next = tree.get(part)
      const child: Tree = next instanceof Map ? next : new Map()
      tree.set(part, child)
      tree = child
    }
    tree.set(parts.at(-1)!, method)
  }
  return root
}

function className(path: string[]): string {
  return `_${path.map((part) => capital(part.replace(/_(.)/g, (_, letter) => capital(letter)))).join('')}`
}

/** A type of types.py as another module names it. */
function local(type: string): string {
  return type.replace(/"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*/g, (word) =>
    /^("|(Any|FileInput|List|Dict|Literal|Optional|Union|str|int|float|bool|None|True|False)$)/.test(word)
      ? word
      : `t.${word}`,
  )
}

function scalar({ type }: Json): string {
  return [type].flat().includes('integer') ? 'int' : 'str'
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
