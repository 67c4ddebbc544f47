import type { KnowledgeDocument } from '@platform-api/client'
import { useCallback, useEffect, useState } from 'react'
import { client, messageOf } from './api.ts'

/** Uploads files and adds them to the knowledge base. A document is read in the background. */
export function Files({ base }: { base: string }) {
  const [documents, setDocuments] = useState<KnowledgeDocument[]>([])
  const [progress, setProgress] = useState<number>()
  const [problem, setProblem] = useState('')

  const load = useCallback(async () => {
    setDocuments((await client.ai.knowledge.documents.list(base, { limit: 50 })).data)
  }, [base])
  useEffect(() => void load(), [load])

  const isReading = documents.some(({ status }) => status === 'queued' || status === 'processing')
  useEffect(() => {
    if (!isReading) return
    const timer = setInterval(() => void load(), 1_000)
    return () => clearInterval(timer)
  }, [isReading, load])

  async function upload(files: FileList) {
    setProblem('')
    try {
      for (const file of files) {
        const { file_id } = await client.storage.files.resumableUpload(file, {
          onProgress: ({ sent, total }) => setProgress(sent / total),
        })
        await client.ai.knowledge.documents.create(base, { file_id: file_id! })
        await load()
      }
    } catch (error) {
      setProblem(messageOf(error))
    }
    setProgress(undefined)
  }

  return (
    <section>
      <h2>Files</h2>
      <label className="button">
        Upload
        <input type="file" multiple onChange={(event) => void upload(event.currentTarget.files!)} />
      </label>
      {progress !== undefined && <progress value={progress} aria-label="Upload" />}
      {problem !== '' && <p role="alert">{problem}</p>}
      <ul>
        {documents.map(({ id, name, status }) => (
          <li key={id}>
            {name} <small>{status}</small>
          </li>
        ))}
      </ul>
    </section>
  )
}
