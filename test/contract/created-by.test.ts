// `created_by` names the user who made something inside a project, for the other members, too.
import t from 'tap'
import { createFile, createMember } from '../support/database/db-fixtures.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)

t.test(
  'members see who created a session, a message, a knowledge base, a document, an upload, a file and a link',
  async (t) => {
    const [owner, editor] = await Promise.all([server.person(), server.person()])
    const { body: project } = await owner.client.post('/projects', { name: 'ours' })
    await createMember(server, project.id, editor.id, 'editor')
    const place = { project_id: project.id }
    const { body: session } = await editor.client.post('/ai/sessions', place)
    await owner.client.post('/ai/chat', { session_id: session.id, message: 'Who asks?' })
    await editor.client.post('/ai/chat', { session_id: session.id, message: 'And now?' })
    const { body: base } = await editor.client.post('/ai/knowledge', { name: 'Handbook', ...place })
    const { body: document } = await editor.client.post(`/ai/knowledge/${base.id}/documents`, { text: 'Hi' })
    const file = await createFile(server, editor.id, { projectId: project.id })
    const { body: link } = await editor.client.post(`/storage/files/${file}/links`, {})
    const upload = await editor.client.post('/storage/uploads', undefined, {
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': '2',
        'upload-metadata': `name YQ==,project_id ${Buffer.from(project.id).toString('base64')}`,
      },
    })
    t.equal(upload.status, 201, upload.text)

    for (const [path, what] of [
      [`/ai/sessions/${session.id}`, 'session'],
      [`/ai/knowledge/${base.id}`, 'knowledge base'],
      [`/ai/knowledge/${base.id}/documents/${document.id}`, 'document'],
      [`/storage/uploads/${upload.body.id}`, 'upload'],
      [`/storage/files/${file}`, 'file'],
      [`/storage/files/${file}/links/${link.id}`, 'link'],
    ]) {
      const { body } = await owner.client.get(path)
      t.equal(body.created_by, editor.id, what)
    }
    const { body: messages } = await owner.client.get(`/ai/sessions/${session.id}/messages?order=asc`)
    t.same(
      messages.data.map(({ role, created_by: by }: any) => [role, by]),
      [
        ['user', owner.id],
        ['assistant', owner.id],
        ['user', editor.id],
        ['assistant', editor.id],
      ],
    )
    const { body: updated } = await owner.client.put(`/ai/sessions/${session.id}`, { title: 'Renamed' })
    t.equal(updated.created_by, editor.id, 'an update keeps it')
  },
)

t.test('a project names its creator also after another member owns it', async (t) => {
  const [creator, next] = await Promise.all([server.person(), server.person()])
  const { body: project } = await creator.client.post('/projects', { name: 'handed over' })
  t.equal(project.created_by, creator.id)
  await createMember(server, project.id, next.id, 'owner')
  const members = await creator.client.get(`/projects/${project.id}/members`)
  const own = members.body.data.find(({ user }: any) => user.id === creator.id)
  await creator.client.put(`/projects/${project.id}`, { name: 'still ours' })
  t.equal((await creator.client.delete(`/projects/${project.id}/members/${own.id}`)).status, 204)
  const { body: after } = await next.client.get(`/projects/${project.id}`)
  t.match(after, { owner_id: next.id, created_by: creator.id })
  const { body: endpoint } = await next.client.post('/webhooks/endpoints', {
    url: 'https://hooks.example.com/',
    event_types: ['*'],
  })
  t.equal(endpoint.created_by, next.id)
})
