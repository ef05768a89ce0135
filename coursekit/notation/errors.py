"""The one error of the language: what is wrong, where, and how to repair it."""


class NotationError(ValueError):
    """An equation that cannot be read, checked or run.

    `line` and `column` count from 1; `line` is 0 where no place in the text is to blame.
    `str(error)` is the message, the line itself and a caret under the place. Where the repair can be made by itself,
    `repairs` holds the mended texts, one for each thing that may have been meant.
    """

    def __init__(
        self,
        message: str,
        source: str = "",
        line: int = 0,
        column: int = 0,
        width: int = 1,
        repairs: tuple[str, ...] = (),
    ):
        self.repairs = repairs
        self.message = message
        self.source = source
        self.line = line
        self.column = column
        self.width = max(1, width)
        super().__init__(self._render())

    def _render(self) -> str:
        lines = self.source.split("\n")
        line = lines[self.line - 1] if 1 <= self.line <= len(lines) else ""
        text = "".join(c if c.isprintable() else " " for c in line).rstrip()
        if not text:
            return self.message
        caret = " " * (self.column - 1) + "^" * min(self.width, max(1, len(text) - self.column + 1))
        return f"line {self.line}: {self.message}\n    {text}\n    {caret}"
