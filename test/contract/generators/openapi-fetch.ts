import createClient from 'openapi-fetch'
import type { paths } from './api.js'
import { content, fields, type Result, type Server } from './result.js'

/** A form with JSON objects as JSON, and one part for each entry of a list. */
function formOf(body: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    for (const each of [value].flat())
      form.append(name, each instanceof Blob || typeof each === 'string' ? each : JSON.stringify(each))
  }
  return form
}

export async function use({ url, key }: Server): Promise<Result> {
  const client = createClient<paths>({
    baseUrl: `${url}/v1`,
    headers: { authorization: `Bearer ${key}` },
  })
  const upload = await client.POST('/storage/upload', {
    // openapi-typescript types bytes as text.
    body: { file: new Blob([content]) as unknown as string, ...fields },
    bodySerializer: formOf,
  })
  if (upload.data === undefined) throw new Error(upload.error.error.message)
  const download = await client.GET('/storage/files/{id}/download', {
    params: { path: { id: upload.data.id } },
    parseAs: 'text',
  })
  const stream = await client.POST('/ai/chat/stream', { body: { message: 'Hello' }, parseAs: 'text' })
  const { error, response } = await client.GET('/projects/{id}', {
    params: { path: { id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } },
  })
  return {
    uploaded: upload.data,
    downloaded: String(download.data),
    streamed: String(stream.data),
    error: { status: response.status, code: error?.error.code },
  }
}
