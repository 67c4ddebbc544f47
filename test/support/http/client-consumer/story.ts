// A customer's program that uses the client, in Node.js and in browsers: the quickstart, an upload that is
// interrupted and resumed with its progress, and a streamed chat.
import { AbortError, createPlatformClient, NotFoundError } from '@platform-api/client'
import type { ClientOptions, Member, PlatformClient, Project, Uploadable } from '@platform-api/client'

export async function story(options: ClientOptions, file: Uploadable): Promise<object> {
  const attempts: string[] = []
  const client = createPlatformClient({ ...options, log: ({ operation }) => attempts.push(operation) })
  return {
    ...(await quickstart(client)),
    ...(await upload(client, file)),
    ...(await chat(client)),
    logged: attempts.includes('createProject'),
  }
}

async function quickstart(client: PlatformClient): Promise<object> {
  const project: Project = await client.projects.create({ name: 'From outside' })
  const names: string[] = []
  for await (const { name } of client.projects.list()) names.push(name)
  const roles: Array<Member['role']> = []
  for await (const { role } of client.projects.members.list(project.id)) roles.push(role)
  const error = await client.projects.get('prj_01jd6y8m5qe8btc4y5w1r0n3fz').catch((it: unknown) => it)
  let type: string | undefined
  for await (const { event, data } of client.events.stream({ cursor: 'start', type: ['project.created'] })) {
    if (event !== 'message' || data.type !== 'project.created') continue
    type = `${data.type} ${data.data.object.name}`
    break
  }
  return { names, roles, notFound: error instanceof NotFoundError && error.code, type }
}

async function upload(client: PlatformClient, file: Uploadable): Promise<object> {
  const stored = await client.storage.files.upload({ file, tags: ['story'] })
  const progress: number[] = []
  const leaving = new AbortController()
  let uploadId: string | undefined
  const interrupted = await client.storage.files
    .resumableUpload(file, {
      pieceSize: 1_000_000,
      signal: leaving.signal,
      onCreated: (id) => (uploadId = id),
      onProgress: ({ sent }) => {
        if (sent > 1_000_000) leaving.abort()
      },
    })
    .catch((error: unknown) => error)
  const complete = await client.storage.files.resumableUpload(file, {
    uploadId,
    pieceSize: 1_000_000,
    onProgress: ({ sent }) => progress.push(sent),
  })
  return {
    name: stored.name,
    bytes: stored.bytes,
    interrupted: interrupted instanceof AbortError,
    resumed: progress[0] >= 1_000_000 && progress.at(-1) === stored.bytes,
    monotone: progress.every((sent, i) => i === 0 || sent > progress[i - 1]),
    uploaded: complete.file_id !== null,
  }
}

async function chat(client: PlatformClient): Promise<object> {
  const answer = client.ai.chat.stream({ message: 'How many days of leave are there?' })
  let text = ''
  for await (const piece of answer.deltas()) text += piece
  const { status, message } = await answer.final()
  return { status, complete: text !== '' && message.content === text }
}
