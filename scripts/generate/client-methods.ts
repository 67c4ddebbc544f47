// The types of the client's methods: flat by operationId in `Methods`, and by resource in `Resources`.
import { answerOf, listOf, streamOf, successesOf } from './client-table.ts'
import type { Operation } from './model.ts'
import { parametersTypeOf, parameterTypes, typeNameOf } from '../../services/docs/client-types.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'
import { capital, componentOf } from './schemas.ts'

type Json = any

/** The data for the declarations of an operation's two methods. */
export interface MethodTypes {
  id: string
  /** The documentation comment's lines without the parameters. */
  comment: string[]
  parameters: Array<{ name: string; description: string }>
  /** The types of the parameters, and whether any of them is required. */
  path: string | null
  query: { type: string; required: boolean } | null
  headers: { type: string; required: boolean } | null
  body: { type: string; required: boolean; description: string } | null
  options: 'CallOptions' | 'UploadOptions' | 'StreamOptions'
  /** The type of the result. */
  result: string
  /** The types of a list's page and item. */
  list: { page: string; item: string } | null
  /** Types that only this operation has. */
  declarations: string[]
}

export function methodTypes(document: Json, operation: Operation): MethodTypes {
  const { id, method, path, fullPath, queryParameters, headerParameters, body } = operation
  const { summary, description = '', deprecated } = document.paths[path][method]
  const declarations: string[] = []
  const page = outputOf(operation)
  const list = listOf(document, operation) === undefined ? null : { page, item: itemOf(document, operation) }
  const isUpload = body?.form || body?.streamed
  return {
    id,
    comment: [
      `${summary}: \`${method.toUpperCase()} ${fullPath}\``,
      '',
      ...lines(description),
      ...(deprecated ? ['@deprecated'] : []),
    ],
    parameters: operation.pathParameters.map((parameter) => ({
      name: parameter.name,
      description: describe(document, parameter),
    })),
    path: operation.pathParameters.length === 0 ? null : parametersTypeOf(id, 'path'),
    query: partOf(id, 'query', queryParameters),
    headers: partOf(id, 'header', headerParameters),
    body:
      body === null
        ? null
        : {
            type: bodyOf(document, operation, declarations),
            required: body.required,
            description: bodyDescription(document, operation),
          },
    options: isUpload ? 'UploadOptions' : answerOf(operation) === 'events' ? 'StreamOptions' : 'CallOptions',
    result: list === null ? resultOf(document, operation, declarations) : `ListAnswer<${page}, ${list.item}>`,
    list,
    declarations,
  }
}

function partOf(id: string, place: keyof typeof parameterTypes, parameters: Operation['queryParameters']) {
  if (parameters.length === 0) return null
  return { type: parametersTypeOf(id, place), required: parameters.some(({ required }) => required === true) }
}

function describe(document: Json, { schema, ...parameter }: Json): string {
  return (parameter.description ?? resolve(document, schema)?.description ?? '').trim().replace(/\s+/g, ' ')
}

/** The type of the body; a form gets a type with its file. */
function bodyOf(document: Json, { id, path, method, body }: Operation, declarations: string[]): string {
  const content = resolve(document, document.paths[path][method].requestBody).content
  const typeOf = (mediaType: string): string => {
    const component = componentOf(content[mediaType].schema)
    if (component !== undefined) return typeNameOf(component)
    return `NonNullable<operations['${id}']['requestBody']>['content']['${mediaType}']`
  }
  const json = 'application/json' in content ? typeOf('application/json') : null
  if (body!.form !== null) {
    const { file } = body!.form
    const form = `${capital(id)}Form`
    const about = describe(
      document,
      resolve(document, content['multipart/form-data'].schema).properties[file],
    )
    declarations.push(
      `/** The form of \`${id}\`. */`,
      `export interface ${form} extends Omit<${typeOf('multipart/form-data')}, '${file}'> {`,
      `  /** ${about || 'The file.'} */`,
      `  ${file}: Uploadable`,
      '}',
    )
    return json === null ? form : `${form} | ${json}`
  }
  return body!.streamed ? 'BytesBody' : (json ?? typeOf(Object.keys(content)[0]))
}

function bodyDescription(document: Json, { path, method }: Operation): string {
  const { description, content } = resolve(document, document.paths[path][method].requestBody)
  const [media] = Object.values<Json>(content)
  const text = description ?? resolve(document, media.schema)?.description ?? 'The body of the request.'
  return text.trim().replace(/\s+/g, ' ')
}

/** The type of the body of a success. */
function outputOf(operation: Operation): string {
  const types = successesOf(operation).map(({ status, contentType, schema }) => {
    if (contentType === null) return 'undefined'
    const component = componentOf(schema ?? {})
    if (component !== undefined) return typeNameOf(component)
    return `operations['${operation.id}']['responses'][${status}]['content']['${contentType}']`
  })
  return [...new Set(types)].join(' | ') || 'undefined'
}

function itemOf(document: Json, operation: Operation): string {
  const { properties } = resolve(document, successesOf(operation)[0].schema)
  const component = componentOf(resolve(document, properties.data).items)
  return component === undefined ? `${outputOf(operation)}['data'][number]` : typeNameOf(component)
}

function resultOf(document: Json, operation: Operation, declarations: string[]): string {
  const stream = streamOf(document, operation)
  if (stream === null)
    return answerOf(operation) === 'bytes' ? 'Promise<Response>' : `Answer<${outputOf(operation)}>`
  const dataOf = (name: string): string => typeNameOf(componentOf(stream.events[name])!)
  const events = Object.keys(stream.events).map((name) => `'${name}': ${dataOf(name)}`)
  const event = `${capital(operation.id)}Event`
  declarations.push(
    `/** An event of \`${operation.id}\`, discriminated by \`event\`. */`,
    `export type ${event} = StreamEvent<{ ${events.join('; ')} }>`,
  )
  return stream.answers === undefined
    ? `EventStream<${event}>`
    : `AnswerStream<${event}, ${dataOf(stream.answers.final)}>`
}

/** The input of a flat method: `path`, `query`, `headers`, `body` and the options. */
export function inputDeclaration(types: MethodTypes): string[] {
  const { id, path, query, headers, body, options } = types
  const mark = (part: { required: boolean }): string => (part.required ? '' : '?')
  return [
    ...types.declarations,
    `/** The input of \`${id}\`. */`,
    `export interface ${capital(id)}Input extends ${options} {`,
    ...(path === null ? [] : [`  /** The parameters in the path. */`, `  path: ${path}`]),
    ...(query === null ? [] : [`  /** The query parameters. */`, `  query${mark(query)}: ${query.type}`]),
    ...(headers === null
      ? []
      : [`  /** Header fields of the request. */`, `  headers${mark(headers)}: ${headers.type}`]),
    ...(body === null ? [] : [`  /** ${safe(body.description)} */`, `  body${mark(body)}: ${body.type}`]),
    '}',
  ]
}

/** The declaration of a flat method. */
export function flatMethod(types: MethodTypes): string[] {
  const { id, list, result } = types
  const input = `${capital(id)}Input`
  const optional = isOptional(types)
  const declaration =
    list === null
      ? `${id} (input${optional ? '?' : ''}: ${input}): ${result}`
      : `${id}: ${optional ? 'OptionalListMethod' : 'ListMethod'}<${input}, ${list.page}, ${list.item}>`
  return [...commentOf(types.comment), declaration]
}

function isOptional({ path, query, headers, body }: MethodTypes): boolean {
  return path === null && [query, headers, body].every((part) => part?.required !== true)
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
    ...parameters.map((parameter) => `${camelCase(parameter.name)}: ${path}['${parameter.name}']`),
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

function lines(text: string): string[] {
  return text.trim().split('\n')
}

function safe(text: string): string {
  return text.replaceAll('*/', '* /')
}

function camelCase(name: string): string {
  return name.replace(/[_-](.)/g, (_, letter) => letter.toUpperCase())
}
