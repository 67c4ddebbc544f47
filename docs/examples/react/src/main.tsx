import { AuthenticationError, type Profile } from '@platform-api/client'
import { StrictMode, useCallback, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { client, messageOf } from './api.ts'
import { Chat } from './chat.tsx'
import { Files } from './files.tsx'
import { SignIn } from './sign-in.tsx'

function App() {
  const [profile, setProfile] = useState<Profile | null>()
  const [problem, setProblem] = useState('')
  const [base, setBase] = useState<string>()

  const load = useCallback(async () => {
    try {
      setProfile(await client.user.profile.get())
      const { data } = await client.ai.knowledge.list({ limit: 1 })
      setBase((data[0] ?? (await client.ai.knowledge.create({ name: 'My files' }))).id)
    } catch (error) {
      if (error instanceof AuthenticationError) setProfile(null)
      else setProblem(messageOf(error))
    }
  }, [])
  useEffect(() => void load(), [load])

  async function signOut() {
    await client.signOut()
    setProfile(null)
  }

  if (problem !== '') return <p role="alert">{problem}</p>
  if (profile === null) return <SignIn onDone={load} />
  if (profile === undefined || base === undefined) return <p>Loading …</p>
  return (
    <>
      <header>
        <h1>Ask your files</h1>
        <span>{profile.name}</span>
        <button onClick={() => void signOut()}>Sign out</button>
      </header>
      <main>
        <Files base={base} />
        <Chat base={base} />
      </main>
    </>
  )
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
