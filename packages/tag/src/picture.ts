import type { Probe } from '@pohf/protocol'

type Picture = Extract<Probe, { kind: 'point' }>

/** From bytes, not through an address: a page's policy for images need not allow data URLs. */
const decode = (dataUrl: string): Promise<ImageBitmap> => {
  const binary = atob(dataUrl.slice(dataUrl.indexOf(',') + 1))
  return createImageBitmap(
    new Blob([Uint8Array.from(binary, (character) => character.charCodeAt(0))], { type: 'image/png' }),
  )
}

/** Resolves after the frame that shows what was drawn: one frame to draw it, one to know that it was presented. */
export const afterPaint = (): Promise<void> =>
  new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))

export const draw = async (
  canvas: HTMLCanvasElement,
  { image, width, height }: Pick<Picture, 'image' | 'width' | 'height'>,
): Promise<void> => {
  const bitmap = await decode(image)
  canvas.width = width
  canvas.height = height
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, width, height)
  bitmap.close()
}

/** The position in pixels of the picture, independent of its size on the screen. */
export const canvasPoint = (canvas: HTMLCanvasElement, { clientX, clientY }: MouseEvent) => {
  const box = canvas.getBoundingClientRect()
  return {
    x: ((clientX - box.left) * canvas.width) / box.width,
    y: ((clientY - box.top) * canvas.height) / box.height,
  }
}
