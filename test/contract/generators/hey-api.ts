import { client } from './api/client.gen.js'
import { downloadFile, getProject, streamChat, uploadFile } from './api/sdk.gen.js'
import { content, fields, type Result, type Server } from './result.js'

export async function use({ url, key }: Server): Promise<Result> {
  client.setConfig({ baseUrl: `${url}/v1`, auth: key })
  const { data: file } = await uploadFile({
    body: { file: new Blob([content]), ...fields },
    throwOnError: true,
  })
  const { data: bytes } = await downloadFile({ path: { id: file.id }, parseAs: 'text', throwOnError: true })
  const streamed: string[] = []
  const { stream } = await streamChat({
    body: { message: 'Hello' },
    sseMaxRetryAttempts: 1,
    onSseEvent: ({ event }) => {
      if (event !== undefined) streamed.push(event)
    },
  })
  let answer = ''
  for await (const data of stream) if ('delta' in data) answer += data.delta
  if (answer === '') throw new Error('The stream has no text.')
  const { error, response } = await getProject({ path: { id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } })
  return {
    uploaded: file,
    downloaded: String(bytes),
    streamed,
    error: { status: response?.status, code: error?.error.code },
  }
}
