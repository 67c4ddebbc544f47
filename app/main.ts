// `npm start`: reads the settings, starts the server and prints its URL. A signal stops it gracefully.
import { answerHelp } from '../infra/command-help.ts'
import { finishLoading, prepareToLoad } from './before-loading.ts'

answerHelp(import.meta)

prepareToLoad()
await (await import('./serve.ts')).serve()
finishLoading()
