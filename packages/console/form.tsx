// Forms for the bodies of requests. Their fields are loaded with the first form.
import type { ComponentType } from 'preact'
import type { CreateProps, FormProps } from './form-dialog.tsx'
import { lazy } from './lazy.tsx'

const Nothing = () => null

export const FormDialog: ComponentType<FormProps> = lazy(
  async () => (await import('./form-dialog.tsx')).FormDialog,
  Nothing,
)

export const CreateDialog: ComponentType<CreateProps> = lazy(
  async () => (await import('./form-dialog.tsx')).CreateDialog,
  Nothing,
)
