// Code of a project that uses the client. It must compile; each `@ts-expect-error` marks a type error.
import {
  createPlatformClient,
  PlatformError,
  toFile,
  type components,
  type ChatResponse,
  type ListProjectsQuery,
  type PlatformEvent,
  type Project,
  type ProjectCreate,
  type ProjectList,
  type StoredFile,
} from '@platform-api/client'
import type { operations } from '@platform-api/client/types'

const client = createPlatformClient({
  baseUrl: 'http://127.0.0.1',
  apiKey: 'plat_test_x',
  retries: 1,
  timeout: null,
})

export async function use(): Promise<void> {
  const project: components['schemas']['Project'] = await client.createProject({ body: { name: 'Launch' } })
  const role: string | null = project.your_role
  // @ts-expect-error a later version of the API can have another role
  const known: 'owner' | 'admin' | 'editor' | 'viewer' | null = project.your_role
  const { data, response } = await client
    .getProject({ path: { id: project.id }, headers: { 'If-None-Match': '"x"' } })
    .withResponse()
  const etag: string | null = response.headers.get('ETag')
  await client.updateProject({ path: { id: data.id }, body: { description: null } })
  const nothing: undefined = await client.deleteProject({ path: { id: project.id } })
  await client.getProfile()
  await client.getProfile({ signal: AbortSignal.timeout(10) })

  for await (const { user, role: theirs } of client.listMembers.all({
    path: { id: project.id },
    query: { role: ['editor'] },
  }))
    console.log(user.email, theirs)
  for await (const { data, pagination } of client.listProjects.pages())
    console.log(data.length, pagination.total)
  for await (const event of client.listEvents.all({ query: { cursor: 'start' } })) console.log(event.actor)

  for await (const event of client.streamChat({ body: { message: 'Hi' }, silence: 1000 })) {
    if (event.event === 'message.delta') console.log(event.data.delta.length)
    else if (event.event === 'message.completed') console.log(event.data.usage.total_tokens)
    else if (event.event === 'error') console.log(event.data.error.code)
    // @ts-expect-error an unknown event of the stream
    else if (event.event === 'message.gone') console.log(event)
    // @ts-expect-error the data of another event
    if (event.event === 'message.delta') console.log(event.data.usage)
  }

  await client.uploadFile({
    body: { file: new Blob(['x']), tags: ['a'] },
    onProgress: ({ sent, total }) => console.log(sent / total),
  })
  const upload = await client.resumableUpload(new Blob(['x']), { fields: { path: 'a' } })
  const fileId: string | null = upload.file_id
  const download: Response = await client.downloadFile({ path: { id: fileId! } })
  const raw = await client.api.GET('/projects/{id}', { params: { path: { id: project.id } } })
  console.log(role, known, etag, nothing, download.body, raw.data?.name)

  try {
    await client.getProject({ path: { id: 'x' } })
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.code === 'NOT_FOUND')
      console.log(error.status, error.requestId, error.retryAfter, error.details?.errors?.[0].location)
    // @ts-expect-error a code is a string
    if (error.code === 404) console.log(error)
  }

  // @ts-expect-error an unknown operation
  await client.burnProject()
  // @ts-expect-error a missing body
  await client.createProject()
  // @ts-expect-error a missing field
  await client.createProject({ body: {} })
  // @ts-expect-error an unknown field
  await client.createProject({ body: { name: 'x', colour: 'red' } })
  // @ts-expect-error a value of the wrong type
  await client.createProject({ body: { name: 7 } })
  // @ts-expect-error a missing path parameter
  await client.getProject({})
  // @ts-expect-error an unknown query parameter
  await client.listProjects({ query: { colour: 'red' } })
  // @ts-expect-error a value that is not in the enum
  await client.listProjects({ query: { status: 'burnt' } })
  // @ts-expect-error a body of an operation without one
  await client.getProfile({ body: {} })
  // @ts-expect-error all() of an operation that is not a list
  client.getProfile.all()
  // @ts-expect-error a file that is not a Blob
  await client.uploadFile({ body: { file: 'x' } })
  // @ts-expect-error onProgress of an operation without an upload
  await client.createProject({ body: { name: 'x' }, onProgress: () => {} })
  // @ts-expect-error an unknown field of a response
  console.log((await client.getProfile()).colour)
  // @ts-expect-error an unknown path
  await client.api.GET('/nothing')
  // @ts-expect-error an unknown option
  createPlatformClient({ key: 'x' })
}

export type Status = keyof operations['createProject']['responses'] & 201

/** Everything that the package names. */
export async function useNames(file: StoredFile, event: PlatformEvent): Promise<string> {
  const input: ProjectCreate = { name: 'Launch' }
  const query: ListProjectsQuery = { limit: 1 }
  const page: ProjectList = await client.projects.list(query, { signal: AbortSignal.timeout(10) })
  const [first]: Project[] = page.data
  await client.projects.members.add(first.id, { user_id: 'usr_1', role: 'editor' })
  await client.projects.update(first.id, input, { headers: { 'If-Match': '"x"' }, retries: 0 })
  const answer = client.ai.chat.stream({ message: 'Hi' })
  const { usage, message } = await answer.final()
  const whole: ChatResponse = await client.ai.chat({ message: 'Hi' })
  const text: string = (await answer.text()) + message.content + whole.message.content
  await client.storage.files.upload({ file: new Uint8Array([1]), name: file.name })
  await client.storage.files.upload({ file: toFile(new Blob(['x']), 'x.txt') })

  // @ts-expect-error an unknown resource
  void client.burners
  // @ts-expect-error a missing body
  await client.projects.create()
  // @ts-expect-error a missing parameter of the path
  await client.projects.get()
  // @ts-expect-error an unknown query parameter
  await client.projects.list({ colour: 'red' })
  // @ts-expect-error an object instead of the path's parameter
  await client.projects.get({ path: { id: 'x' } })
  // @ts-expect-error a path instead of a file
  await client.storage.files.upload({ file: 'report.pdf' })

  switch (event.type) {
    case 'order.paid':
      return event.data.object.currency
    case 'file.created':
      return event.data.object.name
    case 'user.deleted':
      // @ts-expect-error a field of another event's object
      return event.data.object.currency
    default:
      return `${usage.total_tokens} ${text}`
  }
}
