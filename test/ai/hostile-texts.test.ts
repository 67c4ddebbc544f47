// Documents that are made to do harm end as text or with a reason, within the caps, and leave nothing.
import t from 'tap'
import { nastyDocuments } from '../support/hostile-documents.ts'
import { readNasty } from '../support/hostile-parsing.ts'

await readNasty(t, nastyDocuments.texts)
