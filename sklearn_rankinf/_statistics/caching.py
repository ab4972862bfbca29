"""Attributes and results of methods that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")
Self = TypeVar("Self", bound="cached_property[Any]")
Method = TypeVar("Method", bound=Callable[..., Any])


class cached_property(Generic[T]):  # noqa: N801
    """An attribute that is computed when it is first read, and then kept by the object.

    In contrast to that of functools before Python 3.12, no lock is held during the computation. A
    process that is forked meanwhile would wait for the lock for ever, and so would every other
    object of the class. Two threads may compute the same attribute, with the same result.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self: Self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            return self
        # The attribute of the object is found before this descriptor the next time.
        value = vars(instance)[self.name] = self.function(instance)
        return value


def cached_method(method: Method) -> Method:
    """A method that is called once for each object and arguments, which keep its result."""
    return cast(Method, cached_property(lambda self: cache(partial(method, self))))
