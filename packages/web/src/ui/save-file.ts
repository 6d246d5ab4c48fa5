/** Hands a file to the browser, which asks where to put it or puts it where files go. */
export function saveFile(file: File): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = file.name
  link.click()
  // The browser has opened it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
