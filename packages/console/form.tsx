// Forms for the bodies of requests. Their fields are loaded once the first page is shown, so that a form
// opens at once, even without a network.
import type { ComponentType } from 'preact'
import type { CreateProps, FormProps } from './form-dialog.tsx'
import { lazy } from './lazy.tsx'

const Nothing = () => null
const load = () => import('./form-dialog.tsx')

// The first form tries again.
addEventListener('load', () => void load().catch(() => {}))

export const FormDialog: ComponentType<FormProps> = lazy(async () => (await load()).FormDialog, Nothing)

export const CreateDialog: ComponentType<CreateProps> = lazy(async () => (await load()).CreateDialog, Nothing)
