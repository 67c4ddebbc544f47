// The types of the client's methods, from an operation as openapi-typescript writes it.
import type { Progress } from './progress.ts'

type Declared = { parameters: object; responses: object }

type RequiredKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T]
/** Optional as a whole where nothing in it is required. */
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

/** What a file may be; in Node `openAsBlob(path)` of node:fs makes one that is read while it is sent. */
export type FileBody = Blob

/** A body that is bytes and nothing else. */
export type BytesBody = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>

type WithFile<F, File extends string> = Omit<F, File> & { [Name in File]: FileBody }

/** The fields of a form beside its file. */
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

/** What every call takes beside what its operation declares. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  signal?: AbortSignal
  /** Milliseconds that the call may take with all its attempts; null for as long as it takes. */
  timeout?: number | null
  /** How often it may be sent again. */
  retries?: number
}

export interface UploadOptions extends CallOptions {
  /** How far the file is. In Node counted as the connection takes it; in a browser by XMLHttpRequest. */
  onProgress?: (progress: Progress) => void
}

export interface StreamOptions extends CallOptions {
  /** Milliseconds without a word after which the connection counts as broken; 60,000 unless said. */
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

/** The body of its success. */
export type Output<O> = {
  [S in keyof Responses<O> & Success]: Responses<O>[S] extends { content: infer C } ? C[keyof C] : undefined
}[keyof Responses<O> & Success]

type HeaderNames<H> = { [K in keyof H as string extends K ? never : K]: K } extends infer N
  ? N[keyof N]
  : never
type DeclaredHeader<O> = {
  [S in keyof Responses<O> & Success]: Responses<O>[S] extends { headers: infer H } ? HeaderNames<H> : never
}[keyof Responses<O> & Success]

/** An answer whose header fields are known by name. */
export interface TypedResponse<O> extends Response {
  headers: Headers & { get(name: DeclaredHeader<O> & string): string | null }
}

/** A promise of the body; `withResponse()` has the status and the header fields too. The request is sent once, whatever is asked for. */
export interface Answer<O, Data = Output<O>> extends Promise<Data> {
  withResponse(): Promise<{ data: Data; response: TypedResponse<O> }>
}

type Call<In, Out> = RequiredKeys<In> extends never ? (input?: In) => Out : (input: In) => Out

export type Method<O extends Declared> = Call<Input<O> & CallOptions, Answer<O>>

type Item<O> = Output<O> extends { data: Array<infer I> } ? I : never

export type ListMethod<O extends Declared> = Method<O> & {
  /** Every item from the given page on, a page being asked for when the one before has been read. */
  all: Call<Input<O> & CallOptions, AsyncGenerator<Item<O>, void, undefined>>
  /** The same by pages. */
  pages: Call<Input<O> & CallOptions, AsyncGenerator<Output<O>, void, undefined>>
}

/** The body with a file, or, where the operation takes it too, JSON without one. */
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

/** The answer is bytes: the response itself, its body not read yet. */
export type DownloadMethod<O extends Declared> = Call<Input<O> & CallOptions, Promise<TypedResponse<O>>>

/** An event with its data, told apart by `event`. `id` is where a stream that takes `Last-Event-ID` goes on. */
export type StreamEvent<Events> = {
  [Name in keyof Events]: { event: Name; id: string | null; data: Events[Name] }
}[keyof Events]

/** Nothing is sent before the first event is asked for; leaving the loop closes the connection. */
export type StreamMethod<O extends Declared, Events> = Call<
  Input<O> & StreamOptions,
  AsyncGenerator<StreamEvent<Events>, void, undefined>
>
