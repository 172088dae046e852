/** A picture to save as SVG or PNG. */
import type { Pixels } from 'wordloom';

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly background: string;
  readonly ink: string;
  readonly title: string;
  /** Pixels, stretched to a rectangle without smoothing. */
  readonly images: readonly { x: number; y: number; width: number; height: number; pixels: Pixels }[];
  readonly paths: readonly { d: string; stroke: string; opacity: number }[];
  readonly texts: readonly Text[];
}

export interface Text {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly size: number;
  readonly anchor: 'start' | 'middle' | 'end';
  /** Whether the text runs upwards. */
  readonly upright?: boolean;
}

const FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const SVG = 'http://www.w3.org/2000/svg';

/** Builds nodes, never markup, so that a text is always text. */
export function toSvg(scene: Scene): Blob {
  const document = new Document();
  const add = (parent: Node, name: string, attributes: Record<string, string | number>): Element => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    return parent.appendChild(element);
  };
  const { width, height } = scene;
  const root = add(document, 'svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': FONT });
  add(root, 'title', {}).textContent = legal(scene.title);
  add(root, 'rect', { width, height, fill: scene.background });
  for (const { pixels, ...place } of scene.images) {
    const href = canvasOf(pixels).toDataURL('image/png');
    const image = { ...place, href, preserveAspectRatio: 'none', 'image-rendering': 'pixelated' };
    add(root, 'image', image);
  }
  for (const { d, stroke, opacity } of scene.paths) {
    add(root, 'path', { d, stroke, 'stroke-opacity': opacity, 'stroke-width': 1.5, fill: 'none' });
  }
  for (const { x, y, text, size, anchor, upright } of scene.texts) {
    const element = add(root, 'text', {
      x,
      y,
      'font-size': size,
      'text-anchor': anchor,
      'dominant-baseline': 'central',
      fill: scene.ink,
      ...(upright ? { transform: `rotate(-90 ${x} ${y})` } : {}),
    });
    element.textContent = legal(text);
  }
  return new Blob([new XMLSerializer().serializeToString(document)], { type: 'image/svg+xml' });
}

/** Draws in twice the page's resolution, unless that is too large. */
export function toPng(scene: Scene): Promise<Blob> {
  const { width, height, background, ink } = scene;
  const scale = Math.max(0.25, Math.min(2, LARGEST / Math.max(width, height)));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d');
  if (context === null) return Promise.reject(new Error('This browser draws no pictures.'));
  context.scale(scale, scale);
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  for (const { x, y, width, height, pixels } of scene.images) {
    context.drawImage(canvasOf(pixels), x, y, width, height);
  }
  context.lineWidth = 1.5;
  for (const { d, stroke, opacity } of scene.paths) {
    context.globalAlpha = opacity;
    context.strokeStyle = stroke;
    context.stroke(new Path2D(d));
  }
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.textBaseline = 'middle';
  for (const { x, y, text, size, anchor, upright } of scene.texts) {
    context.save();
    context.translate(x, y);
    if (upright) context.rotate(-Math.PI / 2);
    context.font = `${size}px ${FONT}`;
    context.textAlign = anchor === 'middle' ? 'center' : anchor;
    context.fillText(text, 0, 0);
    context.restore();
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error('This browser could not make the picture.'));
      else resolve(blob);
    }, 'image/png');
  });
}

const LARGEST = 2600;

function canvasOf({ width, height, rgba }: Pixels): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d')?.putImageData(new ImageData(rgba, width, height), 0, 0);
  return canvas;
}

/** Removes control characters, which XML does not allow even escaped. */
function legal(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd');
}
