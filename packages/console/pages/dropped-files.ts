// The files of a drop, also those in folders.

interface Dropped {
  file: File
  /** The folders of the drop that the file was in, such as `photos/2026`. */
  folder: string
}

export async function droppedFiles({ items }: DataTransfer): Promise<Dropped[]> {
  const found: Dropped[] = []
  async function add(entry: FileSystemEntry, folder: string): Promise<void> {
    if (isDirectory(entry)) {
      const reader = entry.createReader()
      const inner = folder === '' ? entry.name : `${folder}/${entry.name}`
      for (let batch = await read(reader); batch.length > 0; batch = await read(reader))
        for (const each of batch) await add(each, inner)
    } else {
      const file = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      )
      found.push({ file, folder })
    }
  }
  // The items are gone after the first wait.
  const dropped = [...items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }))
  for (const { entry, file } of dropped)
    if (entry !== null) await add(entry, '')
    else if (file !== null) found.push({ file, folder: '' })
  return found
}

const isDirectory = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

/** The next entries of a folder; none at its end. */
const read = async (reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> =>
  await new Promise((resolve, reject) => reader.readEntries(resolve, reject))
