// The typed client, and the session of the visitor in a cookie that no script can read.
import { createPlatformClient } from '@platform-api/client'

export const client = createPlatformClient({ baseUrl: location.origin, apiKey: null })

export async function signIn(email: string, password: string): Promise<void> {
  const { refresh_token } = await client.signIn({ body: { method: 'password', email, password } })
  const { status } = await fetch('/v1/auth/sessions/cookie', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token }),
  })
  if (status !== 200) throw new Error('The server does not keep sessions of this page: set CORS_ORIGINS.')
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
