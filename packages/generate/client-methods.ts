// The types of the client's methods: flat by operationId in `Methods`, and by resource in `Resources`.
import { answerOf, pagesOf, returnedMedia, streamOf, successesOf } from './client-table.ts'
import { formOf } from './forms.ts'
import { schemaOf, type Media, type Operation, type Parameter } from '@platform-api/openapi/document.ts'
import { essenceOf, isJson } from '@platform-api/openapi/media-types.ts'
import { propertiesOf } from '@platform-api/openapi/views.ts'

type Json = any

/** The names that types.d.ts has for parameters and schemas. */
export interface TypeNames {
  /** The type of the operations as requests have them. */
  requests: string
  parameters(operation: Operation, place: Place): string
  /** The type of the schema, if it has a name. */
  schema(schema: Json): string | undefined
}

export type Place = 'path' | 'query' | 'header' | 'cookie'

interface Part {
  type: string
  required: boolean
}

/** The data for the declarations of an operation's two methods. */
export interface MethodTypes {
  /** The operationId. */
  id: string
  /** The name of the flat method. */
  method: string
  /** The documentation comment's lines without the parameters. */
  comment: string[]
  parameters: Array<{ name: string; description: string }>
  /** The types of the parameters, and whether any of them is required. */
  path: string | null
  query: Part | null
  headers: Part | null
  cookies: Part | null
  body: (Part & { description: string; contentTypes: string[] }) | null
  options: 'CallOptions' | 'UploadOptions' | 'StreamOptions'
  /** The type of the result. */
  result: string
  /** The type of the events, if the operation answers with them, too. */
  stream: string | null
  /** The types of a list's page and item. */
  list: { page: string; item: string } | null
  /** Types that only this operation has. */
  declarations: string[]
}

/** @param method the name of the flat method. */
export function methodTypes(
  document: Json,
  operation: Operation,
  { method, names }: { method: string; names: TypeNames },
): MethodTypes {
  const { id, parameters, node, body } = operation
  const { summary, description = '', deprecated } = node
  const declarations: string[] = []
  const page = outputOf(operation, names)
  const answer = answerOf(document, operation)
  const shape = answer === 'json' ? pagesOf(document, operation) : undefined
  const list =
    shape === undefined ? null : { page, item: itemOf(document, operation, { shape, page, names }) }
  const events = eventsOf(document, operation, { method, names, declarations })
  const isUpload = body?.media.some((media) => isBytes(media) || filesIn(document, media).length > 0) === true
  const part = (place: Place): Part | null => {
    const own = parameters.filter((each) => each.in === place)
    if (own.length === 0) return null
    return { type: names.parameters(operation, place), required: own.some(({ required }) => required) }
  }
  const inPath = parameters.filter((each) => each.in === 'path')
  return {
    id,
    method,
    comment: [
      `${oneLine(summary) || id}: \`${operation.method} ${operation.path}\``,
      '',
      ...lines(description),
      ...(deprecated ? ['@deprecated'] : []),
    ],
    parameters: inPath.map((parameter) => ({
      name: parameter.name,
      description: describe(operation, parameter),
    })),
    path: inPath.length === 0 ? null : names.parameters(operation, 'path'),
    query: part('query'),
    headers: part('header'),
    cookies: part('cookie'),
    body:
      body === null
        ? null
        : {
            type: bodyOf(document, operation, { method, names, declarations }),
            required: body.required,
            description: bodyDescription(document, operation),
            contentTypes: body.media.map(({ type }) => type),
          },
    options: isUpload ? 'UploadOptions' : answer === 'events' ? 'StreamOptions' : 'CallOptions',
    result:
      list !== null
        ? `ListAnswer<${page}, ${list.item}>`
        : answer === 'events'
          ? events!
          : answer === 'bytes'
            ? 'Promise<Response>'
            : `Answer<${page}>`,
    stream: answer === 'events' ? null : events,
    list,
    declarations,
  }
}

interface Naming {
  method: string
  names: TypeNames
  /** Gets the types of the operation's own. */
  declarations: string[]
}

function describe({ node, item }: Operation, { name, in: where, schema }: Parameter): string {
  const declared = [...(node.parameters ?? []), ...(item.parameters ?? [])]
  const own = declared.find((each: Json) => each.name === name && each.in === where)
  return oneLine(own?.description ?? schema.description)
}

const oneLine = (text: unknown): string =>
  String(text ?? '')
    .trim()
    .replace(/\s+/g, ' ')

/** The type of the body; a form gets a type with its files. */
function bodyOf(document: Json, operation: Operation, naming: Naming): string {
  const { names, method, declarations } = naming
  const types = operation.body!.media.map((media) => {
    const body = `NonNullable<${names.requests}[${quoted(operation.id)}]['requestBody']>`
    const own = names.schema(media.node.schema) ?? `${body}['content'][${quoted(media.type)}]`
    if (isBytes(media)) return 'Uploadable'
    if (essenceOf(media.type).startsWith('text/') || /[/+]xml$/.test(essenceOf(media.type))) return 'string'
    const files = filesIn(document, media)
    if (files.length === 0) return own
    const form = `${capital(method)}Form`
    if (!declarations.some((line) => line.includes(` ${form} `)))
      declarations.push(
        `/** The form of \`${method}\`. */`,
        `export type ${form} = WithFiles<${own}, ${files.map(quoted).join(' | ')}>`,
      )
    return form
  })
  return [...new Set(types)].join(' | ') || 'unknown'
}

/** The files of a multipart form. */
function filesIn(document: Json, media: Media): string[] {
  return formOf(document, media)?.files ?? []
}

/** Whether the body is neither JSON nor a form nor text. */
function isBytes({ type, schema }: Media): boolean {
  const essence = essenceOf(type)
  if (isJson(essence) || essence.startsWith('multipart/')) return false
  if (essence === 'application/x-www-form-urlencoded') return false
  return schema.format === 'binary' || !(essence.startsWith('text/') || /[/+]xml$/.test(essence))
}

function bodyDescription(document: Json, { node, body }: Operation): string {
  const text = schemaOf(document, node.requestBody).description ?? body!.media[0]?.schema.description
  return oneLine(text ?? 'The body of the request.')
}

/** The type of the body of a success. */
function outputOf(operation: Operation, names: TypeNames): string {
  const types = returnedMedia(operation).map(({ status, media }) => {
    if (media === null) return 'undefined'
    return names.schema(media.node.schema) ?? contentOf(operation, status, media.type)
  })
  return [...new Set(types)].join(' | ') || 'undefined'
}

function contentOf({ id }: Operation, status: string, type: string): string {
  const key = /^\d+$/.test(status) ? status : quoted(status)
  return `operations[${quoted(id)}]['responses'][${key}]['content'][${quoted(type)}]`
}

function itemOf(
  document: Json,
  operation: Operation,
  { shape, page, names }: { shape: { items: string | null }; page: string; names: TypeNames },
): string {
  const schema = returnedMedia(operation).find(({ media }) => media !== null)!.media!.schema
  const list = shape.items === null ? schema : schemaOf(document, propertiesOf(document, schema)[shape.items])
  const way = shape.items === null ? '' : `[${quoted(shape.items)}]`
  return names.schema(list.items) ?? `NonNullable<NonNullable<${page}>${way}>[number]`
}

/** The type of the stream of events that the operation can answer with. */
function eventsOf(document: Json, operation: Operation, naming: Naming): string | null {
  const stream = streamOf(operation)
  if (stream === null) return null
  const { names, method, declarations } = naming
  const event = `${capital(method)}Event`
  declarations.push(`/** An event of \`${method}\`, discriminated by \`event\`. */`)
  if (stream.events === null) {
    const { type } = schemaOf(document, stream.media.node.schema)
    const hasType = stream.media.node.schema !== undefined && type !== 'string'
    const data = hasType ? contentOf(operation, stream.status, stream.media.type) : 'unknown'
    declarations.push(`export type ${event} = { event: string; id: string | null; data: ${data} }`)
    return `EventStream<${event}>`
  }
  const dataOf = (name: string): string => names.schema(stream.events![name]) ?? 'unknown'
  const members = Object.keys(stream.events).map((name) => `${quoted(name)}: ${dataOf(name)}`)
  declarations.push(`export type ${event} = StreamEvent<{ ${members.join('; ')} }>`)
  return stream.answers === undefined
    ? `EventStream<${event}>`
    : `AnswerStream<${event}, ${dataOf(stream.answers.final)}>`
}

/** The type of the errors that the operation declares, discriminated by \`status\`. */
export function errorDeclaration(operation: Operation, method: string): string[] {
  const successes = new Set(successesOf(operation).map(([status]) => status))
  const declared = Object.keys(operation.node.responses ?? {}).filter((status) => !successes.has(status))
  const types = declared.map((status) => {
    const response =
      operation.responses.get(Number(status)) ?? operation.otherResponses.get(status.toUpperCase())
    const media = response?.media.find(({ type }) => isJson(type))
    const body = media === undefined ? 'unknown' : contentOf(operation, status, media.type)
    return `{ status: ${/^\d+$/.test(status) ? status : 'number'}; body: ${body} }`
  })
  const error = `${capital(method)}Error`
  const shapes = types.length === 0 ? '' : ` & (${types.join(' | ')})`
  return [
    `/** An error of \`${method}\`, discriminated by \`status\`. */`,
    `export type ${error} = ApiError${shapes}`,
  ]
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The input of a flat method: `path`, `query`, `headers`, `body` and the options. */
export function inputDeclaration(types: MethodTypes): string[] {
  const { method, path, query, headers, cookies, body, options } = types
  const mark = (part: { required: boolean }): string => (part.required ? '' : '?')
  return [
    ...types.declarations,
    `/** The input of \`${method}\`. */`,
    `export interface ${capital(method)}Input extends ${options} {`,
    ...(path === null ? [] : [`  /** The parameters in the path. */`, `  path: ${path}`]),
    ...(query === null ? [] : [`  /** The query parameters. */`, `  query${mark(query)}: ${query.type}`]),
    ...(headers === null
      ? []
      : [`  /** Header fields of the request. */`, `  headers${mark(headers)}: ${headers.type}`]),
    ...(cookies === null
      ? []
      : [`  /** Cookies of the request. */`, `  cookies${mark(cookies)}: ${cookies.type}`]),
    ...(body === null ? [] : [`  /** ${safe(body.description)} */`, `  body${mark(body)}: ${body.type}`]),
    ...(body === null || body.contentTypes.length < 2
      ? []
      : [
          '  /** The media type of the body. Default: the one that fits it. */',
          `  contentType?: ${body.contentTypes.map(quoted).join(' | ')}`,
        ]),
    '}',
  ]
}

/** The declaration of a flat method. */
export function flatMethod(types: MethodTypes): string[] {
  const { method, list, result, stream } = types
  const input = `${capital(method)}Input`
  const optional = isOptional(types)
  const mark = optional ? '?' : ''
  const declaration =
    list !== null
      ? `${method}: ${optional ? 'OptionalListMethod' : 'ListMethod'}<${input}, ${list.page}, ${list.item}>`
      : stream === null
        ? `${method} (input${mark}: ${input}): ${result}`
        : `${method}: StreamingMethod<[input${mark}: ${input}], ${result}, ${stream}>`
  return [...commentOf(types.comment), declaration]
}

function isOptional({ path, query, headers, cookies, body }: MethodTypes): boolean {
  return path === null && [query, headers, cookies, body].every((part) => part?.required !== true)
}

/** The declaration of a method of a resource; a method with methods of its own has no name. */
export function resourceMethod(name: string, types: MethodTypes): string[] {
  const { path, query, headers, body, parameters, result } = types
  const options =
    headers === null
      ? types.options
      : `With${headers.required ? 'Required' : ''}Headers<${types.options}, ${headers.type}>`
  const input = body ?? query
  const needsOptions = headers?.required === true
  const positional = [
    ...parameters.map((parameter) => `${camelCase(parameter.name)}: ${path}[${quoted(parameter.name)}]`),
    ...(input === null
      ? []
      : [
          `${body === null ? 'query' : 'body'}${input.required || needsOptions ? '' : '?'}: ` +
            `${input.type}${!input.required && needsOptions ? ' | undefined' : ''}`,
        ]),
    `options${needsOptions ? '' : '?'}: ${options}`,
  ]
  const documented = [
    ...parameters.map((parameter) => `@param ${camelCase(parameter.name)} ${parameter.description}`),
    ...(body === null ? [] : [`@param body ${body.description}`]),
    ...(body !== null || query === null ? [] : ['@param query The query parameters.']),
    '@param options The signal, the time limit and more.',
  ]
  return [
    ...commentOf([...types.comment, '', ...documented]),
    `${name} (${positional.join(', ')}): ${result}`,
  ]
}

function commentOf(text: string[]): string[] {
  const trimmed = text.filter((line, i) => line !== '' || (i > 0 && text[i - 1] !== ''))
  return ['/**', ...trimmed.map((line) => ` * ${safe(line)}`.trimEnd()), ' */']
}

function lines(text: unknown): string[] {
  return String(text).trim().split('\n')
}

function safe(text: string): string {
  return text.replaceAll('*/', '* /')
}

function camelCase(name: string): string {
  return name.replace(/[_-](.)/g, (_, letter) => letter.toUpperCase())
}
