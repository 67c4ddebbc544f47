import { useState, type FormEvent } from 'react'
import { messageOf, signIn } from './api.ts'

export function SignIn({ onDone }: { onDone: () => Promise<void> }) {
  const [problem, setProblem] = useState('')

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    try {
      await signIn(String(fields.get('email')), String(fields.get('password')))
      await onDone()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }

  return (
    <form className="sign-in" onSubmit={(event) => void submit(event)}>
      <h1>Sign in</h1>
      <label>
        Email <input name="email" type="email" autoComplete="username" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      {problem !== '' && <p role="alert">{problem}</p>}
      <button>Sign in</button>
    </form>
  )
}
