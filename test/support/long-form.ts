/** Whether this run is the long form: `npm run faults` runs every test file that imports this, with it. */
export const isLongForm = process.env['FAULTS'] === 'long'
