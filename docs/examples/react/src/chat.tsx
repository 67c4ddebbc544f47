import type { Citation } from '@platform-api/client'
import { useState, type FormEvent } from 'react'
import { client, messageOf } from './api.ts'

interface Turn {
  question: string
  answer: string
  citations: Citation[]
}

/** A conversation about the knowledge base: answers arrive word by word, with their sources as footnotes. */
export function Chat({ base }: { base: string }) {
  const [turns, setTurns] = useState<Turn[]>([])
  const [session, setSession] = useState<string>()
  const [stop, setStop] = useState<AbortController>()

  async function ask(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const question = String(new FormData(form).get('question'))
    form.reset()
    const change = (turn: Partial<Turn>) =>
      setTurns((all) => [...all.slice(0, -1), { ...all[all.length - 1], ...turn }])
    setTurns((all) => [...all, { question, answer: '', citations: [] }])
    const controller = new AbortController()
    setStop(controller)
    let answer = ''
    try {
      const id = session ?? (await client.ai.sessions.create({ knowledge_base_ids: [base] })).id
      setSession(id)
      const stream = client.ai.chat.stream(
        { message: question, session_id: id },
        { signal: controller.signal },
      )
      for await (const text of stream.deltas()) change({ answer: (answer += text) })
      change({ citations: (await stream.final()).message.citations })
    } catch (error) {
      change({ answer: `${answer} (${messageOf(error)})` })
    }
    setStop(undefined)
  }

  return (
    <section>
      <h2>Questions</h2>
      <div aria-live="polite">
        {turns.map(({ question, answer, citations }, i) => (
          <article key={i}>
            <h3>{question}</h3>
            <p>{answer}</p>
            <ol>
              {citations.map(({ chunk_id, name, page, quote }) => (
                <li key={chunk_id}>
                  <q>{quote}</q> – {name}
                  {page !== null && `, page ${page}`}
                </li>
              ))}
            </ol>
          </article>
        ))}
      </div>
      <form onSubmit={(event) => void ask(event)}>
        <input name="question" aria-label="Question" autoComplete="off" required />
        {stop === undefined ? (
          <button>Ask</button>
        ) : (
          <button type="button" onClick={() => stop.abort()}>
            Stop
          </button>
        )}
      </form>
    </section>
  )
}
