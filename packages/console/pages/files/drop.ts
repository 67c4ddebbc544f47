// Dropping onto the page: files of the computer, and items of the page. Elements with `data-folder` take
// them; files that are dropped elsewhere go into the folder that is shown.
import { useEffect, useRef } from 'preact/hooks'
import { droppedFiles } from '../dropped-files.ts'

export const dragged = 'application/x-storage-items'

interface Handlers {
  /** @param folderId null for the root; undefined for the folder that is shown. */
  onFiles:
    ((files: Awaited<ReturnType<typeof droppedFiles>>, folderId: string | null | undefined) => void) | null
  onItems: ((ids: string[], folderId: string | null) => void) | null
}

/** The element under the pointer gets the class `over`. */
export function useDrop(handlers: Handlers): void {
  const latest = useRef(handlers)
  latest.current = handlers
  useEffect(() => {
    let marked: Element | null = null
    const mark = (element: Element | null): void => {
      if (element === marked) return
      marked?.classList.remove('over')
      element?.classList.add('over')
      marked = element
    }
    const targetOf = (event: DragEvent): HTMLElement | null => {
      const element = event.target instanceof Element ? event.target : null
      return element?.closest<HTMLElement>('[data-folder]') ?? null
    }
    const over = (event: DragEvent): void => {
      const types = event.dataTransfer!.types
      const target = targetOf(event)
      if (types.includes('Files')) {
        // A browser would leave the page to show the file.
        event.preventDefault()
        const { onFiles } = latest.current
        event.dataTransfer!.dropEffect = onFiles === null ? 'none' : 'copy'
        mark(onFiles === null ? null : (target ?? document.querySelector('.drive')))
      } else if (types.includes(dragged) && latest.current.onItems !== null) {
        if (target !== null) event.preventDefault()
        mark(target)
      }
    }
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) mark(null)
    }
    const end = (): void => mark(null)
    const drop = (event: DragEvent): void => {
      const target = targetOf(event)
      const folderId = target === null ? undefined : target.dataset.folder || null
      const { onFiles, onItems } = latest.current
      mark(null)
      const data = event.dataTransfer!
      if (data.types.includes('Files')) {
        event.preventDefault()
        if (onFiles !== null) void droppedFiles(data).then((files) => onFiles(files, folderId))
        return
      }
      const ids = data.getData(dragged)
      if (ids === '' || folderId === undefined || onItems === null) return
      event.preventDefault()
      onItems(ids.split(' '), folderId)
    }
    document.addEventListener('dragover', over)
    document.addEventListener('dragleave', leave)
    document.addEventListener('dragend', end)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', over)
      document.removeEventListener('dragleave', leave)
      document.removeEventListener('dragend', end)
      document.removeEventListener('drop', drop)
    }
  }, [])
}
