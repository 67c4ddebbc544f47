// The pages of lists and resources. Whoever imports from here loads them as one file.
export { DetailPage } from './detail.tsx'
export { goFrom, ListPage, Pages } from './list.tsx'
