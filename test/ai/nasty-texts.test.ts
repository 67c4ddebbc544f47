// Documents that are made to do harm end as text or with a reason, within the caps, and leave nothing.
import t from 'tap'
import { nastyDocuments } from '../support/nasty-documents.ts'
import { readNasty } from '../support/nasty-readings.ts'

await readNasty(t, nastyDocuments.texts)
