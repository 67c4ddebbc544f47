// The type of a handler, derived from types.ts: what a request holds, and the allowed pairs of status and
// body of an answer.
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { ServerSentEvent } from './answers.ts'
import type { FormFiles, ItemStreams, OperationId, OperationsByTag } from './operations.ts'
import type { operations as requests } from './request-types.ts'
import type { operations } from './types.ts'

type Asked<Id extends OperationId> = requests[Id]
type ParametersOf<Op> = Op extends { parameters: infer P } ? P : object
type Part<P, Where extends string> = P extends { [K in Where]: infer Values }
  ? Values
  : P extends { [K in Where]?: infer Values }
    ? Partial<NonNullable<Values>>
    : Record<string, never>

/** The media types that the server parses and validates, beside forms with files. Other bodies are bytes. */
type Parsed =
  | `${string}/json`
  | `${string}/json;${string}`
  | `${string}+json${string}`
  | `application/x-www-form-urlencoded${string}`
/** A range that includes JSON: a body is parsed if it is JSON. */
type JsonRange = '*/*' | 'application/*'
type FilesOf<Id> = Id extends keyof FormFiles ? FormFiles[Id] : never
type FileOf<Value> = Value extends readonly unknown[] ? File[] : File
/** The fields of a form, with a `File` for each file. */
type FormIn<Id, Fields> = {
  [Name in keyof Fields]: Name extends FilesOf<Id> ? FileOf<NonNullable<Fields[Name]>> : Fields[Name]
}
type BodyIn<Id, Content> = {
  [Type in keyof Content]: Type extends Parsed
    ? Content[Type]
    : Type extends JsonRange
      ? Content[Type] | Buffer
      : Type extends `multipart/form-data${string}`
        ? unknown extends Content[Type]
          ? Buffer
          : FormIn<Id, Content[Type]>
        : Buffer
}[keyof Content]
type BodyOf<Id, Op> = Op extends { requestBody: { content: infer Content } }
  ? BodyIn<Id, Content>
  : Op extends { requestBody?: { content: infer Content } }
    ? BodyIn<Id, Content> | undefined
    : undefined

/** A request after validation. Parameters have the declared types. */
export interface Request<Id extends OperationId> {
  path: Part<ParametersOf<Asked<Id>>, 'path'>
  query: Part<ParametersOf<Asked<Id>>, 'query'>
  /** By names in lower case. Declared ones have their declared types. */
  headers: IncomingHttpHeaders
  cookies: Part<ParametersOf<Asked<Id>>, 'cookie'>
  body: BodyOf<Id, Asked<Id>>
}

type JsonLines = `application/${'' | 'x-'}${'ndjson' | 'jsonl' | 'json-lines'}${string}`
/** What is sent item by item: events, and lines of JSON by `itemSchema`. */
type ItemsOf<Id, Type, Schema> = Id extends ItemStreams
  ? Type extends `text/event-stream${string}` | JsonLines
    ? AsyncIterable<Schema>
    : never
  : Type extends `text/event-stream${string}`
    ? AsyncIterable<ServerSentEvent<Schema>>
    : never

type Status<Declared> = Declared extends number ? Declared : number
/** `type` is needed when the first declared media type is not the one of the body. */
type ContentOf<Id, Content> = {
  [Type in keyof Content]: {
    type?: Type extends `${string}*${string}` ? string : Type
    body: Type extends Parsed
      ? Content[Type]
      : Type extends JsonRange
        ? Content[Type] | string | Buffer | Readable
        : ItemsOf<Id, Type, Content[Type]> | string | Buffer | Readable
  }
}[keyof Content]
type AnswerOf<Id, Responses> = {
  [Declared in keyof Responses]: {
    status: Status<Declared>
    headers?: Record<string, string>
  } & (Responses[Declared] extends { content: infer Content } ? ContentOf<Id, Content> : { body?: undefined })
}[keyof Responses]

export type Answer<Id extends OperationId> = operations[Id] extends { responses: infer Responses }
  ? [keyof Responses] extends [never]
    ? { status: number; headers?: Record<string, string>; type?: string; body?: unknown }
    : AnswerOf<Id, Responses>
  : never

export type Handler<Id extends OperationId> = (request: Request<Id>) => Promise<Answer<Id>>

/** The handlers of a tag, one for each operation. */
export type Handlers<Tag extends keyof OperationsByTag> = {
  [Id in OperationsByTag[Tag]]: Handler<Id>
}

export type AllHandlers = { [Id in OperationId]: Handler<Id> }

/** An error that the server answers with this status. */
export class HttpError extends Error {
  status: number
  /** The problems, each with the part of the request. */
  problems: Problem[]
  constructor(status: number, message: string, problems: Problem[] = []) {
    super(message)
    this.status = status
    this.problems = problems
  }
}

export interface Problem {
  in: 'path' | 'query' | 'header' | 'cookie' | 'body'
  /** A JSON pointer into the part; empty for the part itself. */
  at: string
  message: string
}

/** The error of a stub. */
export function notImplemented(id: OperationId): HttpError {
  return new HttpError(501, `The operation ${id} is not implemented`)
}
