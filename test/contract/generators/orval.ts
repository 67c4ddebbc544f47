import { downloadFile, getProject, streamChat, uploadFile } from './api.js'
import { content, fields, type Result, type Server } from './result.js'

export async function use({ key }: Server): Promise<Result> {
  const options = { headers: { authorization: `Bearer ${key}` } }
  const upload = await uploadFile({ file: new Blob([content]), ...fields }, options)
  if (upload.status !== 201) throw new Error(upload.data.error.message)
  const download = await downloadFile(upload.data.id, {}, options)
  const stream = await streamChat({ message: 'Hello' }, options)
  const missing = await getProject('prj_01jd6y8m5qe8btc4y5w1r0n3fz', options)
  return {
    uploaded: upload.data,
    downloaded: await (download.data as Blob).text(),
    streamed: String(stream.data),
    error: { status: missing.status, code: missing.status === 404 ? missing.data.error.code : undefined },
  }
}
