// A fake S3 server whose responses, or missing responses, the test decides.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { S3Config } from '../../infra/config/config.ts'

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
  const server = createServer(answer)
  server.timeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
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
