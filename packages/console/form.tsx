// Forms for the bodies of requests. Their fields are loaded once the first page is shown, so that a form
// opens at once, even without a network.
import type { ComponentType } from 'preact'
import type { CreateProps, FormProps } from './form-dialog.tsx'
import { lazy, preload } from './lazy.tsx'

const Nothing = () => null
async function load(): Promise<typeof import('./form-dialog.tsx')> {
  const forms = await import('./form-dialog.tsx')
  await forms.ready
  return forms
}

// The first form tries again.
preload(load)

export const FormDialog: ComponentType<FormProps> = lazy(async () => (await load()).FormDialog, Nothing)

export const CreateDialog: ComponentType<CreateProps> = lazy(async () => (await load()).CreateDialog, Nothing)
