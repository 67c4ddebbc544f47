// A fake S3 server whose responses, or missing responses, the test decides. It keeps the documents of the
// store itself; until the store has an owner it is empty.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { S3Config } from '../../../infra/config/config.ts'
import { listen } from '../http/listen.ts'

export interface FakeS3 {
  config: S3Config
  /** The environment of a platform server that stores its files there. */
  env: Record<string, string>
}

/** Listens until the end of the test. */
export async function startFakeS3(
  t: Pick<Test, 'teardown'>,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<FakeS3> {
  const server = createServer(withDocuments(answer))
  server.timeout = 0
  const port = await listen(t, server)
  const endpoint = `http://127.0.0.1:${port}`
  return {
    config: {
      endpoint,
      bucket: 'fake',
      region: 'us-east-1',
      redirect: false,
      credentials: { accessKeyId: 'fake', secretAccessKey: 'fake' },
    },
    env: {
      STORAGE: 's3',
      S3_ENDPOINT: endpoint,
      S3_BUCKET: 'fake',
      S3_ACCESS_KEY_ID: 'fake',
      S3_SECRET_ACCESS_KEY: 'fake',
    },
  }
}

/** Reads the request and responds that the object is stored. */
export function acceptUpload(request: IncomingMessage, response: ServerResponse): void {
  request.resume().on('end', () => response.setHeader('etag', '"x"').end())
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

function withDocuments(answer: Answer): Answer {
  const documents = new Map<string, Buffer>()
  let isClaiming = false
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x')
    if (isClaiming && documents.size === 0 && searchParams.has('list-type'))
      return response.end('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>')
    if (!pathname.startsWith('/fake/.platform-')) return answer(request, response)
    isClaiming = true
    if (request.method === 'PUT') {
      void buffer(request).then((content) => {
        documents.set(pathname, content)
        response.setHeader('etag', '"x"').end()
      })
      return
    }
    const content = documents.get(pathname)
    if (content === undefined) response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    else response.end(content)
  }
}
