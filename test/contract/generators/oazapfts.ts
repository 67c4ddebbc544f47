import { defaults, downloadFile, getProject, streamChat, uploadFile } from './api.js'
import { content, fields, type Result, type Server } from './result.js'

export async function use({ url, key }: Server): Promise<Result> {
  defaults.baseUrl = `${url}/v1`
  defaults.headers = { authorization: `Bearer ${key}` }
  const upload = await uploadFile({ file: new Blob([content]), ...fields })
  if (upload.status !== 201) throw new Error(upload.data.error.message)
  const download = await downloadFile(upload.data.id)
  if (download.status !== 200) throw new Error(`The download answered ${download.status}.`)
  const stream = await streamChat({ message: 'Hello' })
  const missing = await getProject('prj_01jd6y8m5qe8btc4y5w1r0n3fz')
  return {
    uploaded: upload.data,
    // The type is Blob, the value is text.
    downloaded: String(download.data),
    streamed: String(stream.data),
    error: { status: missing.status, code: missing.status === 404 ? missing.data.error.code : undefined },
  }
}
