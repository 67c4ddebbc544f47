// The types of the client's methods, derived from openapi-typescript's types of the operations.
import type { Progress } from './progress.ts'

type Declared = { parameters: object; responses: object }

type RequiredKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T]
/** Optional if nothing in it is required. */
type Part<Name extends string, T> = [T] extends [never]
  ? unknown
  : RequiredKeys<T> extends never
    ? { [N in Name]?: T }
    : { [N in Name]: T }

type Parameters<O, Place extends string> = O extends { parameters: { [P in Place]: infer V } }
  ? NonNullable<V>
  : O extends { parameters: { [P in Place]?: infer V } }
    ? NonNullable<V>
    : never

type Content<B> = B extends { content: infer C } ? C[keyof C] : never
type JsonContent<B> = B extends { content: { 'application/json': infer J } } ? J : never
type FormContent<B> = B extends { content: { 'multipart/form-data': infer F } } ? F : never

/** A file. In Node, `openAsBlob(path)` of node:fs returns a Blob that is read while it is sent. */
export type FileBody = Blob

/** A body of raw bytes. */
export type BytesBody = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>

type WithFile<F, File extends string> = Omit<F, File> & { [Name in File]: FileBody }

/** The fields of a form without its file. */
export type FormFields<O, File extends string> = O extends { requestBody: infer B }
  ? Omit<FormContent<B>, File>
  : never

type BodyPart<O, Body> = O extends { requestBody: unknown }
  ? { body: Body }
  : O extends { requestBody?: infer B }
    ? [NonNullable<B>] extends [never]
      ? unknown
      : { body?: Body }
    : unknown

/** The options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal
  /** The time limit in milliseconds, including all retries; null for no limit. */
  timeout?: number | null
  /** The number of retries. */
  retries?: number
}

export interface UploadOptions extends CallOptions {
  /** Reports the progress of the upload. Browsers send the file by XMLHttpRequest then. */
  onProgress?: (progress: Progress) => void
}

export interface StreamOptions extends CallOptions {
  /** Milliseconds without data after which the connection counts as broken. Default 60,000. */
  silence?: number
}

type Rest<O> = Part<'path', Parameters<O, 'path'>> &
  Part<'query', Parameters<O, 'query'>> &
  Part<'headers', Parameters<O, 'header'>>

/** The parameters and the body of an operation. */
export type Input<O, Body = Content<NonNullable<O extends { requestBody?: infer B } ? B : never>>> = Rest<O> &
  BodyPart<O, Body>

type Responses<O> = O extends { responses: infer R } ? R : never
type Success = 200 | 201 | 202 | 203 | 204 | 206

/** The body of the success response. */
export type Output<O> = {
  [S in keyof Responses<O> & Success]: Responses<O>[S] extends { content: infer C } ? C[keyof C] : undefined
}[keyof Responses<O> & Success]

type HeaderNames<H> = { [K in keyof H as string extends K ? never : K]: K } extends infer N
  ? N[keyof N]
  : never
type DeclaredHeader<O> = {
  [S in keyof Responses<O> & Success]: Responses<O>[S] extends { headers: infer H } ? HeaderNames<H> : never
}[keyof Responses<O> & Success]

/** A response with the names of its declared header fields. */
export interface TypedResponse<O> extends Response {
  headers: Headers & { get(name: DeclaredHeader<O> & string): string | null }
}

/** A promise of the body. `withResponse()` also returns the response; it does not send the request again. */
export interface Answer<O, Data = Output<O>> extends Promise<Data> {
  withResponse(): Promise<{ data: Data; response: TypedResponse<O> }>
}

type Call<In, Out> = RequiredKeys<In> extends never ? (input?: In) => Out : (input: In) => Out

export type Method<O extends Declared> = Call<Input<O> & CallOptions, Answer<O>>

type Item<O> = Output<O> extends { data: Array<infer I> } ? I : never

export type ListMethod<O extends Declared> = Method<O> & {
  /** All items, starting with the given page. A page is requested when the previous one has been read. */
  all: Call<Input<O> & CallOptions, AsyncGenerator<Item<O>, void, undefined>>
  /** All pages, starting with the given one. */
  pages: Call<Input<O> & CallOptions, AsyncGenerator<Output<O>, void, undefined>>
}

/** Takes a form with a file or, if the operation accepts it, JSON. */
export type FormMethod<O extends Declared, File extends string> = Call<
  Input<
    O,
    | WithFile<FormContent<NonNullable<O extends { requestBody?: infer B } ? B : never>>, File>
    | JsonContent<NonNullable<O extends { requestBody?: infer B } ? B : never>>
  > &
    UploadOptions,
  Answer<O>
>

export type BytesMethod<O extends Declared> = Call<Input<O, BytesBody> & UploadOptions, Answer<O>>

/** Returns the response, whose body is not read yet. */
export type DownloadMethod<O extends Declared> = Call<Input<O> & CallOptions, Promise<TypedResponse<O>>>

/** An event with its data, discriminated by `event`. `id` is the `Last-Event-ID` to resume after it. */
export type StreamEvent<Events> = {
  [Name in keyof Events]: { event: Name; id: string | null; data: Events[Name] }
}[keyof Events]

/** The request is sent with the first `next()`. Leaving the loop closes the connection. */
export type StreamMethod<O extends Declared, Events> = Call<
  Input<O> & StreamOptions,
  AsyncGenerator<StreamEvent<Events>, void, undefined>
>
