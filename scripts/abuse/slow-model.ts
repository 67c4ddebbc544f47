// A model server whose answers begin after a minute.
import type { Test } from 'tap'
import { startModelServer } from '../bench/model-server.ts'

/** @returns the settings of a server that uses it. */
export async function slowModel(t: Pick<Test, 'teardown'>): Promise<Record<string, string>> {
  const { setting } = await startModelServer(t, {
    models: [{ id: 'slow', context_window: 8_000, max_output_tokens: 1_000 }],
    embeddings: null,
    script: { fault: { kind: 'hang' } },
  })
  return { AI_UPSTREAMS: setting }
}
